"""Neural networks and boosted trees: their cards, how they are loaded and run, in batches
or one event at a time."""
