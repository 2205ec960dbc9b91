from __future__ import annotations

import pytest

from trigemu import TrigemuError
from trigemu.samples.sample import CatalogueTable, SampleTable, hz_per_unit_weight

CROSSING = CatalogueTable(name="c", convention="crossing")
LUMINOSITY = CatalogueTable(name="l", convention="luminosity", luminosity_cm2s=1e34)


def sample(**keys: object) -> SampleTable:
    return SampleTable(**({"name": "s", "role": "background", "files": ("f",)} | keys))  # type: ignore[arg-type]


def test_crossings_amount_to_their_rate() -> None:
    assert hz_per_unit_weight(CROSSING, sample(rate_hz=30e6), 1.5e6) == pytest.approx(20.0)


def test_one_nanobarn_at_1e34_is_ten_hertz() -> None:
    hz = hz_per_unit_weight(LUMINOSITY, sample(cross_section_pb=1000.0), 1.0)
    assert hz == pytest.approx(10.0)
    halved = sample(cross_section_pb=1000.0, filter_efficiency=0.25, k_factor=2.0)
    assert hz_per_unit_weight(LUMINOSITY, halved, 4.0) == pytest.approx(1.25)


def test_a_signal_needs_no_cross_section() -> None:
    assert hz_per_unit_weight(LUMINOSITY, sample(role="signal"), 7.0) == 1.0
    assert hz_per_unit_weight(CROSSING, sample(role="signal"), 7.0) == 1.0


@pytest.mark.parametrize(
    ("catalogue", "keys", "total", "message"),
    [
        (CROSSING, {"cross_section_pb": 1.0}, 1.0, "sample 's' needs rate_hz"),
        (LUMINOSITY, {"rate_hz": 1.0}, 1.0, "sample 's' needs cross_section_pb"),
        (LUMINOSITY, {"cross_section_pb": 1.0}, 0.0, "sum of its generator weights is 0"),
        (LUMINOSITY, {"cross_section_pb": 1.0}, float("nan"), "sum of its generator weights is nan"),
        (
            CatalogueTable(name="l", convention="luminosity"),
            {"cross_section_pb": 1.0},
            1.0,
            "no luminosity_cm2s",
        ),
    ],
)
def test_what_is_missing_is_named(
    catalogue: CatalogueTable, keys: dict[str, float], total: float, message: str
) -> None:
    with pytest.raises(TrigemuError, match=message):
        hz_per_unit_weight(catalogue, sample(**keys), total)
