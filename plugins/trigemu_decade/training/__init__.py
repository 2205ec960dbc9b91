"""Training of the DECADE models, on plain arrays. It needs the extra `train`, so only training imports it."""
