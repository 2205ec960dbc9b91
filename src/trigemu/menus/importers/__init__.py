"""Menus of experiments → menus in TOML that a person can read and edit."""
