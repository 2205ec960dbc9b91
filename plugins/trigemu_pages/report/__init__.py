"""The HTML page of `trigemu report`: its sections, tables and pictures."""
