"""The sums of weights for each pattern of decisions, and the probabilities that triggers accept it.

in: decision bits, weights
out: `PatternTable`, `Acceptance`, the fraction of each rate (`quantities`)
"""
