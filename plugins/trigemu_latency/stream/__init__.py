"""Decisions one event at a time, for latency: a program that one kernel interprets."""
