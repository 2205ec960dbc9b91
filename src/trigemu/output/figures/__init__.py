"""Figures of plain arrays, which know nothing of events."""
