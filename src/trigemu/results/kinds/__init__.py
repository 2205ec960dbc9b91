"""What each kind of result shows, one file a kind."""
