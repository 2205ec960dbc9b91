"""Neural networks and boosted trees: model cards, loading, and evaluation in batches or of single events."""
