"""Timing of trigger decisions."""
