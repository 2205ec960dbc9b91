"""Figures drawn from plain arrays, without knowledge of events."""
