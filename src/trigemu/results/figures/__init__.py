"""Figures of results, drawn from plain arrays."""
