"""Changes along a run: how often `rates-vs section` finds a step, how late, where, and how often it finds one
where there is none.

Usage: python benchmarks/run_trends.py [RUNS] [SECTIONS]

A run has one fill, whose pile-up falls from 60 to 30. The rate is in proportion to it, but from the middle
of the run on it is higher by a step. "ratio to a fit" is the search of ruptures in the ratio to a polynomial
fitted alone, with the same penalty. The delay is the number of sections after the step in which the alarm is
first given if the run up to there is analysed again and again: half of some runs are faster.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from trigemu_recorded.trends import Series, Trend, _penalty, trend_of

FALSE_ALARMS = 0.01
STEPS = (0.0, 0.01, 0.02, 0.05)
EVENTS = (500, 5_000, 50_000)
#: Delays that are tried, in so many of the runs.
DELAYED, DELAYS = 40, (1, 2, 4, 8, 15, 30, 60, 120, 250)


def a_run(rng: np.random.Generator, sections: int, events: float, step: float) -> Series:
    """events: the mean number in a section."""
    pileup = np.linspace(60, 30, sections) + 0.3 * rng.normal(size=sections)
    seconds = np.where(rng.random(sections) < 0.02, 10.0, 23.3)
    ratio = np.where(np.arange(sections) < sections // 2, 1.0, 1.0 + step)
    count = rng.poisson(events * pileup / 45 * seconds / 23.3 * ratio)
    return Series(pileup, seconds, count / seconds, 1.0, 1.0)


def until(series: Series, stop: int) -> Series:
    columns = (series.pileup[:stop], series.seconds[:stop], series.rate[:stop])
    return Series(*columns, series.size, series.largest)


def edges(trend: Trend) -> list[int]:
    """The first sections after changes."""
    return sorted({edge for part in trend.parts for edge in part[:2]} - {0, len(trend.expected)})


def delay(series: Series, middle: int) -> float:
    for after in DELAYS:
        if middle + after > len(series.rate):
            break
        trend = trend_of(until(series, middle + after), FALSE_ALARMS)
        if any(part.stop > middle for part in trend.parts) or (trend.outliers >= middle).any():
            return after
    return np.inf


def by_ratio_to_a_fit(series: Series) -> int:
    """The number of changes that ruptures finds in the ratio to a polynomial of the order of an F test."""
    import ruptures

    used, order = np.ones(len(series.rate), np.bool_), 0
    while (p := (fit := Trend(series, used, order)).p_more) is not None and p < 0.05:
        order += 1
    search = ruptures.KernelCPD(kernel="linear", min_size=1).fit(fit.departure)
    return len(search.predict(pen=_penalty(len(series.rate), FALSE_ALARMS))) - 1


def main() -> None:
    runs, sections = (int(text) for text in [*sys.argv[1:], "200", "500"][:2])
    print(f"{runs} runs of {sections} sections, {100 * FALSE_ALARMS:g} % false alarms")  # noqa: T201
    print("events  step   found  alone right  off by  delay  outliers  ratio to a fit  s per fit")  # noqa: T201
    for events in EVENTS:
        for step in STEPS:
            rng, middle = np.random.default_rng([int(1e4 * step), events]), sections // 2
            found, alone, outliers, other = 0, 0, 0, 0
            off, delays, spent = [], [], 0.0
            for _ in range(runs):
                series = a_run(rng, sections, events, step)
                before = time.process_time()
                trend = trend_of(series, FALSE_ALARMS)
                spent += time.process_time() - before
                places = edges(trend)
                found, outliers = found + bool(places), outliers + bool(len(trend.outliers))
                alone += len(places) == 1 and trend.order == 1
                other += by_ratio_to_a_fit(series) > 0
                if step and places:
                    off.append(min(abs(place - middle) for place in places))
                if step and len(delays) < DELAYED:
                    delays.append(delay(series, middle))
            late = f"{np.quantile(delays, 0.5, method='inverted_cdf'):6g}" if delays else "     –"
            where = f"{np.median(off):6g}" if off else "     –"
            shares = (100 * part / runs for part in (found, alone, outliers, other))
            a, b, c, d = (f"{share:.1f} %" for share in shares)
            print(  # noqa: T201
                f"{events:6d}  {100 * step:3g} %  {a:>7}  {b:>10}  {where}  {late}  {c:>8}  {d:>14}  "
                f"{spent / runs:9.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
