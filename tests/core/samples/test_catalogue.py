"""Catalogues: weights in Hz; files that are left out."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import uproot
from toys import menu_from, toy_events, write_root

from trigemu import Catalogue, TrigemuError, open_catalogue, run
from trigemu.api import SampleError
from trigemu.base.errors import UnreadableError
from trigemu.samples.sample import CatalogueTable, SampleTable, hz_per_unit_weight

MENU = '[[trigger]]\nname = "J"\nkind = "threshold"\nobservable = "jet[0].pt"\nabove = 20\n'
CATALOGUE = """
[catalogue]
name = "toy"
convention = "luminosity"
luminosity_cm2s = 1e34

[[sample]]
name = "a"
role = "background"
cross_section_pb = 1000.0
files = [{a}]
{more}

[[sample]]
name = "b"
role = "background"
cross_section_pb = 70.0
files = ["b.root"]
"""
FILES = [f"a{n}.root" for n in range(5)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of 30, 40, … events, in baskets of 10."""
    folder = tmp_path_factory.mktemp("whole")
    for n, name in enumerate([*FILES, "b.root"]):
        write_root(folder / name, toy_events(n, 30 + 10 * n), basket=10)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path, dirs_exist_ok=True)


def written(folder: Path, files: list[str] = FILES, more: str = "") -> Path:
    path = folder / f"{len(files)}.toml"
    path.write_text(CATALOGUE.format(a=", ".join(f'"{name}"' for name in files), more=more))
    return path


def damage_a_basket(file: Path) -> None:
    """The second one of Jet_pt: only who decompresses it sees it."""
    with uproot.open(file) as opened:
        branch = opened["Events"]["Jet_pt"]
        start, size = (int(branch.member(name)[1]) for name in ("fBasketSeek", "fBasketBytes"))
    content = bytearray(file.read_bytes())
    content[start + size - 40 : start + size] = bytes(40)
    file.write_bytes(content)


def rates(catalogue: Catalogue, folder: Path) -> str:
    """All numbers that belong to rates, not what is said of files."""
    found = run(menu_from(folder, MENU), catalogue).to_dict()
    return repr([found[key] for key in ("menu", "triggers", "overlap", "samples")])


def test_all_files_that_cannot_be_opened_are_told_at_once(folder: Path) -> None:
    (folder / "a1.root").unlink()
    (folder / "a3.root").write_bytes((folder / "a3.root").read_bytes()[:-500])
    digests = [f'"{"0" * 64}"'] + ['"' + "1" * 64 + '"'] * 4
    with pytest.raises(UnreadableError) as error:
        open_catalogue(written(folder))
    lines = str(error.value).splitlines()
    assert len(lines) == 2
    assert "no file" in lines[0]
    assert "a1.root" in lines[0]
    assert "a3.root" in lines[1]
    (folder / "a1.root").write_bytes((folder / "a0.root").read_bytes())
    with pytest.raises(UnreadableError, match=r"(?s)a0\.root: has sha256.*a4\.root: has sha256"):
        open_catalogue(written(folder, more=f"sha256 = [{', '.join(digests)}]"))


@pytest.mark.parametrize("damaged", [(1,), (0, 3), (4,)])
def test_files_that_cannot_be_opened_are_left_out_as_if_they_were_not_listed(
    folder: Path, damaged: tuple[int, ...]
) -> None:
    for n in damaged:
        (folder / FILES[n]).write_bytes((folder / FILES[n]).read_bytes()[:-500])
    opened = open_catalogue(written(folder), skip_bad_files=True)
    others = [name for n, name in enumerate(FILES) if n not in damaged]
    assert rates(opened, folder) == rates(open_catalogue(written(folder, others)), folder)
    assert [Path(file.path).name for file in opened.left_out] == [FILES[n] for n in damaged]
    assert all("cut short" in file.reason or "cannot be read" in file.reason for file in opened.left_out)
    assert opened.samples[0].rate_hz == pytest.approx(10.0)  # normalised to what is left


def test_a_basket_that_is_damaged_is_found_when_it_is_read(folder: Path) -> None:
    damage_a_basket(folder / "a2.root")
    with pytest.raises(UnreadableError, match=r"(?s)sample 'a': .*a2\.root cannot be read.*failed.*a2\.root"):
        run(menu_from(folder, MENU), open_catalogue(written(folder), skip_bad_files=True))


def test_which_part_is_left_out_stands_beside_the_rates(folder: Path) -> None:
    for name in ("a0.root", "a2.root"):
        (folder / name).unlink()
    result = run(menu_from(folder, MENU), open_catalogue(written(folder), skip_bad_files=True))
    out = 2 * (40 + 60 + 70) / 3
    share = out / (out + 40 + 60 + 70 + 80)
    assert result.catalogue.share_left_out == pytest.approx(share)
    document = result.to_dict()
    assert document["left_out"]["share_of_events"] == pytest.approx(share)
    assert [Path(file["file"]).name for file in document["left_out"]["files"]] == ["a0.root", "a2.root"]
    (warning,) = result.warnings
    assert warning.startswith(f"2 of 6 files cannot be opened and are left out, about {100 * share:.2g} % of")
    assert (
        run(menu_from(folder, MENU), open_catalogue(written(folder, FILES[1:2]))).to_dict()["left_out"]
        is None
    )


def test_what_cannot_be_left_out(folder: Path) -> None:
    (folder / "a0.root").unlink()
    with pytest.raises(SampleError, match=r"'a': sum_of_weights .* includes all its files"):
        open_catalogue(written(folder, more="sum_of_weights = 1e5"), skip_bad_files=True)
    with pytest.raises(SampleError, match="sample 'a': none of its files can be read"):
        open_catalogue(written(folder, FILES[:1]), skip_bad_files=True)
    write_root(folder / "a1.root", [e | {"met": math.nan} for e in toy_events(1, 20)])
    menu = menu_from(folder, MENU.replace("jet[0].pt", "met"))
    with pytest.raises(SampleError, match="NaN"):  # it can be read
        run(menu, open_catalogue(written(folder, FILES[1:]), skip_bad_files=True))


CROSSING = CatalogueTable(name="c", convention="crossing")
LUMINOSITY = CatalogueTable(name="l", convention="luminosity", luminosity_cm2s=1e34)
NOWHERE = CatalogueTable(name="l", convention="luminosity")


@pytest.mark.parametrize(
    ("catalogue", "keys", "total", "hz"),
    [
        (CROSSING, {"rate_hz": 30e6}, 1.5e6, 20.0),
        (LUMINOSITY, {"cross_section_pb": 1000.0}, 1.0, 10.0),  # 1 nb at 1e34/cm²/s
        (LUMINOSITY, {"cross_section_pb": 1000.0, "filter_efficiency": 0.25, "k_factor": 2.0}, 4.0, 1.25),
        (LUMINOSITY, {"role": "signal"}, 7.0, 1.0),  # it needs no cross-section
        (CROSSING, {"role": "signal"}, 7.0, 1.0),
        (CROSSING, {"cross_section_pb": 1.0}, 1.0, "sample 's' needs rate_hz"),
        (LUMINOSITY, {"rate_hz": 1.0}, 1.0, "sample 's' needs cross_section_pb"),
        (LUMINOSITY, {"cross_section_pb": 1.0}, 0.0, "sum of its generator weights is 0"),
        (LUMINOSITY, {"cross_section_pb": 1.0}, math.nan, "sum of its generator weights is nan"),
        (NOWHERE, {"cross_section_pb": 1.0}, 1.0, "no luminosity_cm2s"),
    ],
)
def test_the_rate_of_a_unit_of_weight(
    catalogue: CatalogueTable, keys: dict[str, Any], total: float, hz: float | str
) -> None:
    """Or what is missing for it."""
    table = SampleTable(**({"name": "s", "role": "background", "files": ("f",)} | keys))
    if isinstance(hz, float):
        assert hz_per_unit_weight(catalogue, table, total) == pytest.approx(hz)
        return
    with pytest.raises(TrigemuError, match=hz):
        hz_per_unit_weight(catalogue, table, total)
