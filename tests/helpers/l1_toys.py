"""Small menus and test vectors of the CMS global trigger, in the formats of the experiment."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

#: Name, (type, minimum, maximum, data).
CUTS: dict[str, tuple[str, float, float, str]] = {
    "MU-QLTY_SNGL": ("QLTY", 0, 0, "12,13,14,15"),
    "MU-QLTY_OPEN": ("QLTY", 0, 0, "4,5,6,7,8,9,10,11,12,13,14,15"),
    "MU-ETA_1p2": ("ETA", -1.2016875, 1.2016875, ""),
    "MU-ETA_NEG_er1p2": ("ETA", -1.2016875, -1.9846875, ""),
    "MU-PHI_TOP": ("PHI", math.pi / 6, 5 * math.pi / 6, ""),
    "MU-PHI_BOTTOM": ("PHI", 7 * math.pi / 6, 11 * math.pi / 6, ""),
    "MU-PHI_RIGHT": ("PHI", 11 * math.pi / 6, math.pi / 6, ""),
    "MU-PHI_LEFT": ("PHI", 5 * math.pi / 6, 7 * math.pi / 6, ""),
    "MU-PHI_ALL": ("PHI", 0, 2 * math.pi, ""),
    "MU-CHG_NEG": ("CHG", 0, 0, "negative"),
    "MU-INDEX_NEG": ("INDEX", 18, 35, ""),
    "MU-INDEX_POS": ("INDEX", 36, 70, ""),
    "MU-UPT_5": ("UPT", 5, 255, ""),
    "MU-IP_1": ("IP", 0, 0, "1,2,3"),
    "JET-DISP_LLP": ("DISP", 0, 0, "1"),
    "JET-SLICE_0_1": ("SLICE", 0, 1, ""),
    "JET-SLICE_2_5": ("SLICE", 0, 0, "2,5"),
    "JET-ETA_CEN": ("ETA", -69 * 0.0435, 69 * 0.0435, ""),
    "JET-ETA_FWD_NEG": ("ETA", -5.0, -69 * 0.0435, ""),
    "JET-ETA_FWD_POS": ("ETA", 69 * 0.0435, 5.0, ""),
    "EG-ISO_0xA": ("ISO", 0, 0, "1,3"),
    "CHGCOR_OS": ("CHGCOR", 0, 0, "os"),
    "DETA_MAX_1p5": ("DETA", 0, 1.5, ""),
    "DPHI_MIN_1": ("DPHI", 1.0, 3.15, ""),
    "DR_MAX_0p8": ("DR", 0, 0.8, ""),
    "ORMDR_0p5": ("ORMDR", 0, 0.5, ""),
    "MASS_MIN_40": ("MASS", 40, 151982.0, ""),
    "MASS_MAX_12": ("MASS", 0, 12, ""),
    "MASSUPT_3_8": ("MASSUPT", 3, 8, ""),
    "MASSDR_4": ("MASSDR", 4, 0, ""),
    "TBPT_20": ("TBPT", 20, 0, ""),
    "AXO-MODEL_v5": ("MODEL", 0, 0, "v5"),
    "AXO-SCORE_Tight": ("SCORE", 3318, 0, ""),
    "CICADA-CSCORE_50": ("CSCORE", 50, 0, ""),
}
EXTERNALS = {"BPTX_AND.v0": 32, "BPTX_OR": 35, "CASTOR_2": 200}
_STEPS = {"MU": 0.010875}
#: Fewer than in reality, so that files stay small.
_BINS = {"MU": 101, "EG": 100, "TAU": 100, "JET": 200, "ETM": 200, "HTT": 300, "ETT": 100, "HTM": 100}


def _uniform(first: float, step: float, count: int) -> list[tuple[float, float, int]]:
    return [(first + i * step, first + (i + 1) * step, i) for i in range(count)]


def _eta(object_: str) -> list[tuple[float, float, int]]:
    """Bins that end at ±5 or ±2.45; their numbers are in two's complement."""
    step, end, shift, bits = (0.010875, 2.45, -0.5, 9) if object_ == "MU" else (0.0435, 5.0, 0.0, 8)
    numbers = range(-225, 226) if object_ == "MU" else range(-115, 115)
    return [(max(-end, (i + shift) * step), min(end, (i + shift + 1) * step), i % 2**bits) for i in numbers]


def _scales() -> Iterator[tuple[str, str, float, list[tuple[float, float, int]]]]:
    for object_, count in _BINS.items():
        yield object_, "ET", 0.5, _uniform(-0.5 if object_ == "MU" else 0.0, 0.5, count)
        if object_ in ("MU", "EG", "TAU", "JET"):
            yield object_, "ETA", _STEPS.get(object_, 0.0435), _eta(object_)
        if object_ not in ("HTT", "ETT"):
            turns = 576 if object_ == "MU" else 144
            yield object_, "PHI", 2 * math.pi / turns, _uniform(0.0, 2 * math.pi / turns, turns)
    yield "MU", "UPT", 1.0, _uniform(0.0, 1.0, 255)
    yield "MBT0HFP", "COUNT", 1.0, _uniform(0.0, 1.0, 15)
    yield "ZDCP", "ET", 1.0, _uniform(0.0, 1.0, 40)


def _scale(object_: str, kind: str, step: float, bins: Sequence[tuple[float, float, int]]) -> str:
    rows = "".join(
        f"<bin><number>{n}</number><minimum>{low:+.16E}</minimum><maximum>{high:+.16E}</maximum></bin>\n"
        for low, high, n in sorted(
            bins, key=lambda row: str(row[2])
        )  # as text, as the experiment's editor does
    )
    ends = f"<minimum>{bins[0][0]:+.16E}</minimum><maximum>{bins[-1][1]:+.16E}</maximum>"
    ends += f"<step>{step:+.16E}</step>"
    return f"<scale><object>{object_}</object><type>{kind}</type>{ends}<n_bits>9</n_bits>\n{rows}</scale>\n"


def _precisions() -> Iterator[str]:
    types = ("MU", "EG", "TAU", "JET", "ETM", "HTM")
    kinds = {"Delta": 3, "Mass": 1, "MassPt": 1, "Math": 3, "TwoBodyPt": 1, "TwoBodyPtMath": 3}
    kinds |= {"InverseDeltaRMath": 5}
    for i, first in enumerate(types):
        for second in types[i:]:
            for kind, digits in kinds.items():
                number = digits + ("MU" in (first, second) and kind == "Math")
                yield f"<scale><object>PRECISION</object><type>{first}-{second}-{kind}</type>"
                yield f"<minimum>0</minimum><maximum>0</maximum><step>0</step><n_bits>{number}</n_bits>"
                yield "</scale>\n"


def algorithm_xml(index: int, name: str, expression: str, cuts: Iterable[str]) -> str:
    """On lines of its own: the expression stands in the third."""
    text = (
        f"<algorithm>\n<name>{name}</name>\n<expression>{expression}</expression>\n<index>{index}</index>\n"
    )
    for cut in cuts:
        kind, low, high, data = CUTS[cut]
        text += (
            f"<cut><name>{cut}</name><object/><type>{kind}</type><minimum>{low:+.16E}</minimum>"
            f"<maximum>{high:+.16E}</maximum><data>{data}</data></cut>\n"
        )
    return text + "</algorithm>\n"


def menu_xml(expressions: Mapping[str, str] | Sequence[str], grammar: str = "0.6") -> str:
    """A menu of algorithms, by name or else A0, A1, …, with the cuts that they name; bits count from 0."""
    if not isinstance(expressions, Mapping):
        expressions = {f"A{i}": text for i, text in enumerate(expressions)}
    externals = "".join(
        f"<ext_signal><name>{name}</name><system>X</system><cable>0</cable><channel>{bit}</channel></ext_signal>\n"
        for name, bit in EXTERNALS.items()
    )
    used = [[cut for cut in CUTS if cut in text] for text in expressions.values()]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmxsd:menu xmlns:tmxsd="http://www.cern.ch/tmxsd/1.0.0">\n'
        f"<name>Toy</name>\n<grammar_version>{grammar}</grammar_version>\n<comment>two\nlines</comment>\n"
        + "".join(algorithm_xml(i, *item, used[i]) for i, item in enumerate(expressions.items()))
        + "<scale_set>\n<name>s</name>\n"
        + "".join(_scale(*scale) for scale in _scales())
        + "".join(_precisions())
        + f"</scale_set>\n<ext_signal_set>\n<name>e</name>\n{externals}</ext_signal_set>\n</tmxsd:menu>\n"
    )


def write_menu(folder: Path, expressions: Mapping[str, str] | Sequence[str], grammar: str = "0.6") -> Path:
    file = folder / "menu.xml"
    file.write_text(menu_xml(expressions, grammar))
    return file


def word(**fields: tuple[int, int]) -> int:
    """A word from (value, lowest bit) of its fields."""
    return sum(value << low for value, low in fields.values())


def muon(pt: int, eta: int = 0, phi: int = 0, quality: int = 12, charge: int = 1, index: int = 0) -> int:
    """The word of a muon, from the hardware's integers and its charge (0: not valid)."""
    sign = {1: 0b10, -1: 0b11, 0: 0}[charge]
    return phi | pt << 10 | quality << 19 | (eta % 512) << 23 | sign << 34 | index << 36


def calorimeter(pt: int, eta: int = 0, phi: int = 0, isolation: int = 0) -> int:
    """The word of an e/γ or of a τ."""
    return pt | (eta % 256) << 9 | phi << 17 | isolation << 25


def jet(pt: int, eta: int = 0, phi: int = 0) -> int:
    return pt | (eta % 256) << 11 | phi << 19


def vector_line(
    number: int,
    *,
    muons: Sequence[int] = (),
    egammas: Sequence[int] = (),
    taus: Sequence[int] = (),
    jets: Sequence[int] = (),
    sums: Sequence[int] = (),
    external: int = 0,
    algorithms: int = 0,
    columns: int = 48,
) -> str:
    """A line; what is not given is zero."""
    places = ((muons, 8, 16), (egammas, 12, 8), (taus, 8, 8), (jets, 12, 8), (sums, 4, 8))
    if columns == 60:
        places = ((muons, 8, 16), (egammas, 12, 8), (taus, 12, 8), (jets, 12, 8), (sums, 12, 8))
    words = [
        f"{value:0{digits}x}"
        for given, count, digits in places
        for value in (*given, *[0] * (count - len(given)))
    ]
    return " ".join([f"{number:04d}", *words, f"{external:064x}", f"{algorithms:0128x}", "0"])
