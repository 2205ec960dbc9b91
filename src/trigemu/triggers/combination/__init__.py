"""`combination`: several objects of an event, within windows, with cuts on pairs."""
