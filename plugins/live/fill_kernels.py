"""Kernel: what the first level accepts at controlled thresholds."""

from __future__ import annotations

from trigemu.api import BoolArray, FloatArray, IntArray, kernel


@kernel
def add_controlled(
    interactions: IntArray,
    sample: IntArray,
    weight: FloatArray,
    unseen: FloatArray,
    plain: FloatArray,
    fitted: FloatArray,
    scores: FloatArray,
    factor: FloatArray,
    scales: FloatArray,
    thresholds: FloatArray,
    chance: FloatArray,
    is_fitted: BoolArray,
    own: FloatArray,
) -> float:
    """Return the weight that the first level accepts in addition because of k controlled triggers, and add to
    own, float64[k], what each accepts.

    With f the accepted part of an event, f₀ that without fitted triggers, w its weight, u the same in the
    unseen half and 0 in the other one, and s the scale of its sample, an event counts w f₀ + s u (f − f₀), as
    in rates. plain, fitted: float64[r], f₀ and f without the controlled triggers; scores: float64[r, k];
    chance: float64[k], one over the prescales.
    """
    total = 0.0
    for row in range(len(weight)):
        by = factor[interactions[row]]
        judged = scales[sample[row]] * unseen[row]
        missed = missed_plain = 1.0
        for k in range(len(thresholds)):
            if scores[row, k] > thresholds[k]:
                own[k] += chance[k] * by * (judged if is_fitted[k] else weight[row])
                missed *= 1.0 - chance[k]
                if not is_fitted[k]:
                    missed_plain *= 1.0 - chance[k]
        more_plain = (1.0 - plain[row]) * (1.0 - missed_plain)
        more = (1.0 - fitted[row]) * (1.0 - missed)
        total += by * (weight[row] * more_plain + judged * (more - more_plain))
    return total
