"""Figures from plain arrays: what is drawn here knows nothing of events."""
