"""Words are decoded according to the table of bits; here each number is decoded by hand."""

from __future__ import annotations

import lzma
import math
import pickle
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from l1_toys import calorimeter, jet, muon, vector_line
from real_data import real_file
from trigemu_cms import CMSVector
from trigemu_cms.vectors import ORBIT

from trigemu import catalogue_of
from trigemu.api import ReadEvents, SampleError


def write(folder: Path, *lines: str, name: str = "vector.txt") -> CMSVector:
    file = folder / name
    file.write_text("\n".join(lines) + "\n")
    return CMSVector(str(file))


def everything(source: CMSVector) -> ReadEvents:
    schema = source.schema
    needs = [(name, "pt") for name in schema.collections] + [("", name) for name in schema.scalars]
    return source.read(0, source.entries, needs)


def test_a_muon_has_its_bits(tmp_path: Path) -> None:
    result = muon(pt=12, eta=-3, phi=300, quality=13, charge=-1, index=77) | 2 << 32 | 9 << 53 | 3 << 62
    read = everything(write(tmp_path, vector_line(0, muons=[0, result]))).collections["muon"]
    expected = {
        **{"hw_pt": 12, "hw_eta": -3, "hw_phi": 300, "quality": 13, "isolation": 2, "charge": -1},
        **{"index": 77, "hw_upt": 9, "impact": 3, "slot": 1, "pt": 5.5},
    }
    assert read.offsets.tolist() == [0, 1]
    assert {name: read.columns[name].item() for name in expected} == expected
    assert read.columns["eta"].item() == pytest.approx(-3 * 0.010875)
    assert read.columns["phi"].item() == pytest.approx(300.5 * math.tau / 576 - math.tau)


def test_calorimeter_objects_have_their_bits(tmp_path: Path) -> None:
    line = vector_line(
        0,
        egammas=[calorimeter(63, -115, 143, 3)],
        taus=[calorimeter(511, 114, 0, 1)],
        jets=[jet(2047, -1, 72) | 1 << 27],
    )
    read = everything(write(tmp_path, line)).collections
    rows = {name: {c: v.item() for c, v in read[name].columns.items()} for name in ("egamma", "tau", "jet")}
    assert rows["egamma"] == {
        **{"hw_pt": 63, "hw_eta": -115, "hw_phi": 143, "isolation": 3, "slot": 0, "pt": 31.5},
        **{"eta": pytest.approx(-114.5 * 0.0435), "phi": pytest.approx(-math.tau / 288)},
    }
    assert (rows["tau"]["pt"], rows["tau"]["eta"]) == (255.5, pytest.approx(114.5 * 0.0435))
    assert rows["jet"]["displaced"] == 1
    assert rows["jet"]["pt"] == 1023.5
    assert rows["jet"]["phi"] == pytest.approx(72.5 * math.tau / 144 - math.tau)


@pytest.mark.parametrize("columns", [48, 60])
def test_sums_and_counts_are_always_there(tmp_path: Path, columns: int) -> None:
    sums = [0x1234_5678 + (i << 28) for i in range(6 if columns == 60 else 4)]
    read = everything(
        write(tmp_path, vector_line(0, sums=sums, columns=columns), vector_line(1, columns=columns))
    )
    for name, place in (("ett", 0), ("htt", 1), ("etm", 2), ("htm", 3)):
        assert read.collections[name].columns["pt"].tolist() == [(sums[place] & 0xFFF) / 2, 0.0]
    assert read.collections["etm"].columns["hw_phi"].tolist() == [sums[2] >> 12 & 0xFF, 0]
    for place, name in enumerate(("mbt0hfp", "mbt0hfm", "mbt1hfp", "mbt1hfm")):
        assert read.collections[name].columns["pt"].tolist() == [sums[place] >> 28, 0]
    assert ("etmhf" in read.collections) == ("centrality_0" in read.scalars) == (columns == 60)
    if columns == 60:
        assert read.collections["asymhthf"].columns["pt"].tolist() == [sums[5] >> 20 & 0xFF, 0]
        assert read.collections["towercount"].columns["pt"].tolist() == [sums[1] >> 12 & 0x1FFF, 0]
        assert read.scalars["centrality_0"].tolist() == [sums[4] >> 28 | sums[5] >> 28 << 4, 0]


@pytest.mark.parametrize(
    ("words", "repeated"),
    [
        ([muon(9, eta) | (eta % 512) << 53 for eta in (0, 7, -9)], True),
        ([muon(9, 7) | 7 << 53, muon(9, 7) | 6 << 53], False),
        ([muon(9, 0), muon(8, 0)], False),  # η is 0, and the bits are not set
    ],
)
def test_muons_that_repeat_eta_have_no_unconstrained_pt(
    tmp_path: Path, words: list[int], repeated: bool
) -> None:
    file = write(tmp_path, *(vector_line(n, muons=[word], columns=60) for n, word in enumerate(words)))
    missing = [name for name in ("hw_upt",) if name not in file.schema.collections["muon"]]
    missing += [name for name in ("shower_0",) if name not in file.schema.scalars]
    assert missing == (["hw_upt", "shower_0"] if repeated else [])
    columns = file.read(0, len(words), [("muon", "pt")]).collections["muon"].columns
    assert set(columns) == file.schema.collections["muon"]


def test_showers_are_single_bits_of_muons(tmp_path: Path) -> None:
    lines = [vector_line(i, muons=[0] * i + [1 << 61], columns=60) for i in range(8)]
    assert everything(write(tmp_path, *lines)).scalars["shower_0"].tolist() == [1, 0, 2, 16, 4, 0, 8, 0]


@given(st.integers(0, 2**256 - 1), st.integers(0, 2**512 - 1))
def test_external_and_algorithm_bits_count_from_the_right(
    tmp_path_factory: pytest.TempPathFactory, external: int, algorithms: int
) -> None:
    source = write(tmp_path_factory.mktemp("v"), vector_line(5, external=external, algorithms=algorithms))
    scalars = everything(source).scalars
    words = [int(scalars[f"external_{word}"][0]) % 2**64 for word in range(4)]
    assert sum(word << 64 * i for i, word in enumerate(words)) == external
    stored = source.read_stored(0, 1, source.stored)
    assert sum(int(stored[str(bit)][0]) << bit for bit in range(512)) == algorithms


def test_objects_fall_in_pt_and_keep_their_place(tmp_path: Path) -> None:
    rng = random.Random(4)
    events = [[jet(rng.choice((0, 4, 9, 40)), eta=i) for i in range(rng.randrange(13))] for _ in range(50)]
    read = everything(write(tmp_path, *(vector_line(i, jets=e) for i, e in enumerate(events)))).collections[
        "jet"
    ]
    for i, event in enumerate(events):
        rows = slice(*read.offsets[i : i + 2])
        real = [(-(w & 0x7FF), slot) for slot, w in enumerate(event) if w]
        result = zip(-read.columns["hw_pt"][rows], read.columns["slot"][rows], strict=True)
        assert list(result) == sorted(real)


def test_a_part_is_the_same_as_that_part_of_all(tmp_path: Path) -> None:
    lines = [
        vector_line(i, egammas=[calorimeter(i + 1)] * (i % 3), external=i, algorithms=i) for i in range(9)
    ]
    source = write(tmp_path, *lines)
    part = source.read(3, 7, [("egamma", "pt"), ("", "external_0")])
    assert part.id.tolist() == [3, 4, 5, 6]
    assert np.diff(part.collections["egamma"].offsets).tolist() == [0, 1, 2, 0]
    assert part.collections["egamma"].columns["hw_pt"].tolist() == [5, 6, 6]
    assert part.scalars["external_0"].tolist() == [3, 4, 5, 6]
    assert source.read_stored(3, 7, ["0", "2"])["2"].tolist() == [False, True, True, True]


def test_compressed_files_and_headers(tmp_path: Path) -> None:
    text = "| Crossing | Muons |\n# made by hand\n\n" + vector_line(0) + "\n" + vector_line(1) + "\n"
    (tmp_path / "vector.txt.xz").write_bytes(lzma.compress(text.encode()))
    source = CMSVector(str(tmp_path / "vector.txt.xz"))
    assert (source.entries, source.sum_of_weights, source.boundaries) == (2, 2.0, (0, 2))
    assert pickle.loads(pickle.dumps(source)).read(0, 2, []).id.tolist() == [0, 1]
    assert source.read(0, 2, []).weight.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [((3562, 3563, 0, 1), "line"), ((0, 1, 3, 4), "none"), ((0, 0, 0), "none"), (range(ORBIT), "orbit")],
)
def test_which_crossings_are_neighbours(tmp_path: Path, numbers: list[int], expected: str) -> None:
    assert write(tmp_path, *map(vector_line, numbers)).neighbours == expected


blanks = st.text(" \t\v\f", min_size=1, max_size=3)
others = st.sampled_from(["", "  ", "| Muons | 0", "# made by hand", "#0 1"])


@given(
    st.lists(
        st.tuples(others, st.integers(0, 10**18 - 1), blanks, st.sampled_from(["\n", "\r\n"])), min_size=1
    )
)
def test_lines_are_those_of_crossings_however_they_are_spaced(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, int, str, str]]
) -> None:
    file = tmp_path_factory.mktemp("v") / "v.txt"
    text = ""
    for other, number, blank, end in lines:
        line = vector_line(0, external=number).split()
        text += f"{other}{end}{blank}{blank.join([str(number), *line[1:]]).upper()}{blank}{end}"
    file.write_bytes(text.encode())
    source = CMSVector(str(file))
    numbers = [number for _, number, _, _ in lines]
    assert source._crossings[0].tolist() == numbers
    assert source.read(0, len(lines), [("", "external_0")]).scalars["external_0"].tolist() == numbers


GOOD = vector_line(0)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([GOOD.rpartition(" ")[0]], "line 1: 47 columns, expected 48 or 60"),
        ([GOOD, "", f"{GOOD} 0"], "line 3: 49 columns, the lines before have 48"),
        (
            ["# header", GOOD, GOOD.replace("00000000 ", "0000000 ", 1)],
            "line 3: column 2 has 15 digits, expected 16",
        ),
        (
            [GOOD, GOOD.replace(" 0000", " 0g00", 1)],
            "line 2, column 2: '0g00000000000000' is not hexadecimal",
        ),
        ([GOOD.replace(" 0000", " 000é", 1)], "line 1: column 2 has 17 digits"),
        # Numbers that do not fit into 64 bits.
        ([f"{10**18} {GOOD.partition(' ')[2]}"], f"line 1, column 1: '{10**18}' is not a crossing number"),
        ([GOOD, f"-1 {GOOD.partition(' ')[2]}"], "line 2, column 1: '-1' is not a crossing number"),
        (["", "# a", "| b"], "has no crossings"),
    ],
)
def test_mistakes_name_line_and_column(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(SampleError, match=message):
        _ = write(tmp_path, *lines).entries


def test_a_file_that_is_cut_short_is_named(tmp_path: Path) -> None:
    (tmp_path / "v.txt.xz").write_bytes(lzma.compress(vector_line(0).encode())[:-40])
    with pytest.raises(SampleError, match=r"v\.txt\.xz"):
        catalogue_of(tmp_path / "v.txt.xz", "cms-l1-vector")


def test_the_vector_of_2016_is_an_orbit_and_decodes_as_by_hand() -> None:
    real = real_file("cms_l1", "TestVector_L1Menu_Collisions2016_v8.txt.xz")
    source = CMSVector(str(real))
    assert (source.entries, source.neighbours) == (3564, "orbit")
    read = everything(source)
    with lzma.open(real, "rt") as stream:
        lines = [line.split() for line in stream]
    for collection, first, count, bits in (("egamma", 9, 12, 9), ("tau", 21, 8, 9), ("jet", 29, 12, 11)):
        words = [[int(w, 16) for w in line[first : first + count]] for line in lines]
        expected = [sorted((w & (1 << bits) - 1 for w in row if w), reverse=True) for row in words]
        assert read.collections[collection].columns["hw_pt"].tolist() == [
            pt for row in expected for pt in row
        ]
    stored = source.read_stored(0, 3564, ["0", "99", "511"])
    for name, fired in stored.items():
        assert fired.tolist() == [bool(int(line[-2], 16) >> int(name) & 1) for line in lines]
