"""Plugins: what they declare, where they are found, and how they are loaded."""
