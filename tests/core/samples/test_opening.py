"""Catalogues and other forms of samples: what is opened, verified and refused."""

from __future__ import annotations

import hashlib
import shutil
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import uproot
from servers import Ranges, serving
from toys import CATALOGUE, toy_events, write_root, write_tree

from trigemu import Catalogue, TrigemuError, catalogue_of, open_catalogue
from trigemu.api import SampleError
from trigemu.base.errors import UnreadableError
from trigemu.samples.locations import naming
from trigemu.samples.memory import samples_of
from trigemu.samples.opening import embedded_catalogue


def catalogue(folder: Path, entry: str = "", head: str = "") -> Catalogue:
    text = (
        f'[catalogue]\nname = "toy"\nconvention = "luminosity"\nluminosity_cm2s = 1e34\n{head}\n'
        f'[[sample]]\nname = "a"\nrole = "background"\ncross_section_pb = 1000.0\n{entry}\n'
    )
    (folder / "catalogue.toml").write_text(text)
    return open_catalogue(folder / "catalogue.toml")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_root(tmp_path / "a.root", toy_events(1, 50))
    return tmp_path / "a.root"


def test_weights_come_from_the_sums_and_not_from_what_survived(tmp_path: Path) -> None:
    events = toy_events(1, 50)
    write_root(tmp_path / "a.root", events, sum_of_weights=1e5)
    sample = catalogue(tmp_path, 'files = ["a.root"]').samples[0]
    assert sample.rate_hz == pytest.approx(10.0)
    read = sample.read(0, 0, 50, ())
    assert read.weight == pytest.approx([e["weight"] * 10.0 / 1e5 for e in events])


def test_globs_add_up(tmp_path: Path) -> None:
    write_root(tmp_path / "a1.root", toy_events(1, 20), sum_of_weights=30.0)
    write_root(tmp_path / "a2.root", toy_events(2, 30), sum_of_weights=70.0)
    opened = catalogue(tmp_path, 'files = ["a?.root"]')
    sample = opened.sample("a")
    assert (sample.entries, sample.hz_per_weight) == (50, pytest.approx(0.1))
    assert [Path(source.path).name for source in sample.sources] == ["a1.root", "a2.root"]
    with pytest.raises(SampleError, match=r"unknown sample 'aa'.*\(known: a\)"):
        opened.sample("aa")


def test_files_are_read_over_http(tmp_path: Path, file: Path) -> None:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    with serving(partial(Ranges, directory=tmp_path)) as url:
        opened = catalogue(tmp_path, f'files = ["{url}/a.root"]')
        local = catalogue(tmp_path, 'files = ["a.root"]')
        needs = [("jet", "eta")]
        remote, here = (c.samples[0].read(0, 0, 50, needs) for c in (opened, local))
        assert (remote.weight == here.weight).all()
        assert opened.samples[0].sources[0].sha256 is None
        verified = catalogue(tmp_path, f'files = ["{url}/a.root"]\nsha256 = ["{digest}"]')
        assert verified.samples[0].sources[0].sha256 == digest
        one = catalogue_of(f"{url}/a.root")
        assert (one.samples[0].table.format, one.samples[0].entries) == ("nanoaod", 50)
        with pytest.raises(TrigemuError, match=rf"sample 'a': {url}/none\.root cannot be read"):
            catalogue(tmp_path, f'files = ["{url}/none.root"]')


def test_a_protocol_without_its_package_says_so(tmp_path: Path) -> None:
    with pytest.raises(TrigemuError, match=r"needs a package that is not installed.*xrootd"):
        catalogue(tmp_path, 'files = ["root://localhost//a.root"]')


def test_sha256_is_verified(tmp_path: Path, file: Path) -> None:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    opened = catalogue(tmp_path, f'files = ["a.root"]\nsha256 = ["{digest.upper()}"]')
    assert opened.samples[0].sources[0].sha256 == digest
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(
        TrigemuError, match=rf"sample 'a': .*a\.root: has sha256 .* its catalogue says {digest}"
    ):
        catalogue(tmp_path, f'files = ["a.root"]\nsha256 = ["{digest}"]')
    with pytest.raises(TrigemuError, match=r":\d+: sample 'a': sha256\[0\] = 'xyz': expected 64 hex"):
        catalogue(tmp_path, 'files = ["a.root"]\nsha256 = ["xyz"]')
    with pytest.raises(TrigemuError, match="2 sha256 for 1 files"):
        catalogue(tmp_path, f'files = ["a.root"]\nsha256 = ["{digest}", "{digest}"]')


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('files = ["none.root"]', r"sample 'a': no file .*none\.root"),
        ('files = ["a.root"]\nformat = "nanoad"', "unknown format 'nanoad'; did you mean 'nanoaod'"),
        ("files = []", r"catalogue\.toml:10: sample 'a': files = \[\]: name at least one file"),
        ('files = ["a.root"]\nk_facter = 2', r"catalogue\.toml:11: sample 'a': unknown key 'k_facter'; did"),
        ('files = ["a.root"]\nk_factor = -1.0', r"k_factor = -1\.0: expected a number > 0"),
        ('files = ["catalogue.toml"]', r"sample 'a': .*catalogue\.toml cannot be read"),
        ('files = ["a.root"]\n[[sample]]\nname = "a"\nrole = "signal"\nfiles = ["a.root"]', "has this name"),
    ],
)
def test_mistakes_of_a_catalogue(tmp_path: Path, file: Path, entry: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        catalogue(tmp_path, entry)


def test_truncated_files_are_refused(tmp_path: Path, file: Path) -> None:
    content = file.read_bytes()
    for part in (0.02, 0.5, 0.9, 1 - 1 / len(content)):
        file.write_bytes(content[: int(len(content) * part)])
        with pytest.raises(TrigemuError, match=r"sample 'a': .*a\.root(: has \d+ of its| cannot be read)"):
            catalogue(tmp_path, 'files = ["a.root"]').samples[0].read(0, 0, 50, [("jet", "eta"), ("", "met")])


def write(path: Path, **columns: Any) -> None:
    with uproot.recreate(path) as root:
        root["Events"] = columns


def test_what_weights_are_made_of(tmp_path: Path) -> None:
    """Recorded events weigh the same; a simulation needs its sums, and a sample events."""
    write(tmp_path / "a.root", MET_pt=np.arange(4, dtype="f4"))
    sample = catalogue(tmp_path, 'files = ["a.root"]').samples[0]
    assert sample.read(0, 0, 4, [("", "met")]).weight == pytest.approx([2.5] * 4)
    write(tmp_path / "a.root", genWeight=np.ones(3))
    with pytest.raises(TrigemuError, match="Runs/genEventSumw"):
        catalogue(tmp_path, 'files = ["a.root"]')
    write_root(tmp_path / "a.root", [], sum_of_weights=5.0)
    with pytest.raises(TrigemuError, match=r"sample 'a': .*a\.root has no events"):
        catalogue(tmp_path, 'files = ["a.root"]')


def test_files_of_one_sample_have_the_same_branches(tmp_path: Path, file: Path) -> None:
    """But for decisions."""
    write(tmp_path / "a2.root", MET_pt=np.arange(4, dtype="f4"))
    with pytest.raises(TrigemuError, match=r"a2\.root has different branches from .*a\.root"):
        catalogue(tmp_path, 'files = ["a*.root"]')
    for i, bits in enumerate((("HLT_A", "L1_B"), ("HLT_A", "L1_C"))):
        write(tmp_path / f"b{i}.root", MET_pt=np.ones(3, "f4"), **dict.fromkeys(bits, np.ones(3, bool)))
    sample = catalogue(tmp_path, 'files = ["b*.root"]').samples[0]
    assert sample.entries == 6
    assert sample.schema.scalars == {"MET_pt", "met", "HLT_A"}


@pytest.mark.parametrize(
    ("stored", "weights", "declared", "in_files"),
    [
        (30.0, [1.0] * 3, 30.0, None),
        (30.0, [1.0] * 3, 29.98, None),  # rounded
        (30.0, [1.0] * 3, 1e5, None),  # further files
        (30.0, [1.0] * 3, 29.0, "30"),
        (30.0, [1.0, -1.0, 1.0], 29.0, "30"),
        (None, [0.5, 1.0, 1.5], 3.0, None),
        (None, [0.5, 1.0, 1.5], 100.0, None),  # a skim
        (None, [0.5, 1.0, 1.5], 1.0, "3"),
        (None, [5.0, -1.0, 5.0], 8.0, None),  # a skim may have less of the negative ones
    ],
)
def test_a_sum_of_weights_is_not_less_than_that_of_the_files(
    tmp_path: Path, stored: float | None, weights: list[float], declared: float, in_files: str | None
) -> None:
    write_tree(tmp_path / "a.root", {"genWeight": np.array(weights)}, runs=[stored] if stored else None)
    entry = f'files = ["a.root"]\nsum_of_weights = {declared}'
    if in_files is None:
        assert catalogue(tmp_path, entry).samples[0].hz_per_weight == pytest.approx(10.0 / declared)
        return
    with pytest.raises(
        SampleError, match=rf"sum_of_weights = {declared:g} in .* add up to {in_files}, .* at least that"
    ):
        catalogue(tmp_path, entry)


def test_one_file_is_a_background_of_crossings_that_weigh_the_same(tmp_path: Path) -> None:
    write_root(tmp_path / "one.v2.root", toy_events(1, 50), sum_of_weights=1e5)
    opened = catalogue_of(tmp_path / "one.v2.root")
    assert (opened.table.name, opened.table.convention, opened.crossing_rate_hz) == ("one", "crossing", 40e6)
    (sample,) = opened.background
    assert sample.rate_hz == 40e6
    assert sample.read(0, 10, 50, [("jet", "pt")]).weight == pytest.approx([40e6 / 50] * 40)
    assert open_catalogue(tmp_path / "one.v2.root") == opened
    digest = hashlib.sha256((tmp_path / "one.v2.root").read_bytes()).hexdigest()
    assert (opened.sha256, sample.sources[0].sha256, sample.digests) == ("", None, (digest,))


KNOWN = r"which none of the formats recognises \(known: nanoaod"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.root", None, r"sample 'none': .*none\.root cannot be read \(FileNotFoundError"),
        ("a.dat", b"\xff\0\x02", rf"it is a file that begins with b'\\xff\\x00\\x02', {KNOWN}"),
        ("a.log", b"trigger rate\nJ100 3", "it is a file that begins with b'trigger rate"),
        ("a.txt", b"", f"unknown format: it is empty, {KNOWN}"),
    ],
)
def test_a_file_of_no_known_format_says_so(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TrigemuError, match=message):
        catalogue_of(tmp_path / name)


def test_a_file_without_events_says_what_is_there(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "a.root") as root:
        root.mktree("other", {"x": "f8"})
    with pytest.raises(TrigemuError, match=r"no tree 'Events', nor another .* \(it has: other\)"):
        catalogue_of(tmp_path / "a.root")
    with pytest.raises(TrigemuError, match="unknown format 'nano'"):
        catalogue_of(tmp_path / "a.root", "nano")


@pytest.mark.parametrize("pb", ["1e300", "1e-290", "1e30"])
def test_rates_beyond_the_range_of_sums_are_refused(tmp_path: Path, file: Path, pb: str) -> None:
    with pytest.raises(TrigemuError, match=r"sample 'a': its events add up to .* Hz .*check its norm"):
        catalogue(tmp_path, f'files = ["a.root"]\nk_factor = {pb}')


@pytest.mark.parametrize(
    ("module", "error", "expected", "message"),
    [
        ("a", MemoryError, TrigemuError, "there is not enough memory"),
        ("a", ValueError, SampleError, r"sample 'a': .*a\.root cannot be read \(ValueError: bad\)"),
        ("uproot.models", AssertionError, SampleError, "bad"),  # of what is in a file
        ("numba.core.caching", ValueError, ValueError, "bad"),
        ("trigemu.samples.sample", AssertionError, AssertionError, "bad"),
    ],
)
def test_a_file_is_blamed_for_its_own_mistakes_alone(
    module: str, error: type[Exception], expected: type[Exception], message: str
) -> None:
    scope: dict[str, Any] = {"__name__": module, "error": error}
    exec("def load():\n    raise error('bad')", scope)
    with pytest.raises(expected, match=message), naming("a", "a.root"):
        scope["load"]()


METADATA: dict[str, Any] = {"cross_section_pb": 2000.0, "genFiltEff": 0.25, "kFactor": 1.2, "nEvents": 7}


def of_entry(folder: Path, entry: str) -> Any:
    (folder / "catalogue.toml").write_text(
        '[catalogue]\nname = "c"\nconvention = "luminosity"\nluminosity_cm2s = 1e34\n'
        f'[[sample]]\nname = "a"\nrole = "background"\n{entry}\n'
    )
    return open_catalogue(folder / "catalogue.toml").samples[0]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The server's answer, and what was asked."""
    write_root(tmp_path / "a.root", toy_events(1, 20), sum_of_weights=30.0)
    seen: list[str] = []

    def get_metadata(key: str) -> dict[str, Any]:
        seen.append(key)
        if not known:
            raise ValueError(f"Dataset '{key}' not found in release '2024r-pp':\n no route to host")
        return known

    def get_urls(key: str, *, protocol: str, cache: bool) -> list[str]:
        assert (protocol, cache) == ("https", False)
        return [str(tmp_path / "a.root")]

    known = dict(METADATA)
    module = SimpleNamespace(get_metadata=get_metadata, get_urls=get_urls)
    monkeypatch.setitem(sys.modules, "atlasopenmagic", module)
    return SimpleNamespace(known=known, seen=seen)


def test_a_dataset_completes_what_the_entry_does_not_say(tmp_path: Path, asked: Any) -> None:
    sample = of_entry(tmp_path, 'dataset = 301204\nformat = "nanoaod"')
    assert asked.seen == ["301204"]
    assert sample.rate_hz == pytest.approx(2000 * 0.25 * 1.2 * 1e-36 * 1e34)
    assert (sample.entries, sample.table.dataset) == (20, 301204)
    own = of_entry(tmp_path, 'dataset = "301204"\nformat = "nanoaod"\nk_factor = 3.0\nfiles = ["a.root"]')
    assert own.rate_hz == pytest.approx(2000 * 0.25 * 3.0 * 1e-36 * 1e34)


def test_nobody_is_asked_for_what_the_entry_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "atlasopenmagic", None)
    write_root(tmp_path / "a.root", toy_events(1, 20), sum_of_weights=30.0)
    entry = 'dataset = 1\nfiles = ["a.root"]\ncross_section_pb = 10.0\nfilter_efficiency = 1.0\n'
    assert of_entry(tmp_path, entry + "k_factor = 1.0").rate_hz == pytest.approx(0.1)
    with pytest.raises(TrigemuError, match=r'catalogue\.toml:8: .*pip install "trigemu\[atlas\]"'):
        of_entry(tmp_path, entry)


def test_nothing_is_made_up(tmp_path: Path, asked: Any) -> None:
    asked.known["kFactor"] = None
    with pytest.raises(
        TrigemuError, match=r"catalogue\.toml:8: sample 'a': .* does not have k_factor; write it"
    ):
        of_entry(tmp_path, 'dataset = 301204\nformat = "nanoaod"')
    asked.known["cross_section_pb"] = None
    with pytest.raises(TrigemuError, match="sample 'a' needs cross_section_pb in its catalogue entry"):
        of_entry(tmp_path, 'dataset = 301204\nformat = "nanoaod"')


def test_without_an_answer_the_message_says_what_to_write(tmp_path: Path, asked: Any) -> None:
    asked.known.clear()
    message = (
        r"catalogue\.toml:8: .*Dataset '9' not found in release '2024r-pp': no route to host\); without it "
        r"write files, cross_section_pb, filter_efficiency, k_factor in the entry"
    )
    with pytest.raises(TrigemuError, match=message):
        of_entry(tmp_path, "dataset = 9")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("samples")
    for n, name in enumerate(("all", "more")):
        write_root(made / f"{name}.root", toy_events(n, 20 + n))
    (made / "catalogue.toml").write_text(CATALOGUE)
    return made


def heads(catalogue: Catalogue) -> list[Any]:
    return [(s.name, s.weighted, s.rate_hz, [f.path for f in s.sources]) for s in catalogue.samples]


def test_a_catalogue_in_every_form(folder: Path) -> None:
    catalogue = open_catalogue(folder / "catalogue.toml")
    assert samples_of(catalogue) is catalogue
    for given in (folder / "catalogue.toml", str(folder / "catalogue.toml"), folder, str(folder), [folder]):
        found = samples_of(given)
        assert heads(found) == heads(catalogue)
        assert (found.sha256, found.path) == (catalogue.sha256, catalogue.path)
    assert heads(open_catalogue(folder)) == heads(catalogue)


def test_nothing_stands_for_the_embedded_samples() -> None:
    assert samples_of(None).path == embedded_catalogue()


def test_event_files_one_or_several(folder: Path) -> None:
    one = samples_of(folder / "all.root")
    assert heads(one) == [("all", False, 40e6, [str(folder / "all.root")])]
    for given in (
        [folder / "all.root", str(folder / "more.root")],
        str(folder / "*.root"),
        folder / "*.root",
    ):
        both = samples_of(given)
        files = [str(folder / f"{name}.root") for name in ("all", "more")]
        assert heads(both) == [("all", False, 40e6, files)]
        assert both.samples[0].entries == 41
        assert both.samples[0].hz_per_weight == pytest.approx(40e6 / 41, rel=1e-15)
        assert (both.path, both.sha256) == (folder / "all.root", "")
    assert heads(catalogue_of([folder / "all.root"])) == heads(one)
    only = samples_of(folder / "al?.root")
    assert (only.path, only.sha256) == (one.path, one.sha256) == (folder / "all.root", "")


def test_paths_are_relative_to_the_current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert heads(samples_of("all.root")) == heads(samples_of(folder / "all.root"))
    assert heads(samples_of("*.root")) == heads(samples_of(folder / "*.root"))
    assert heads(samples_of(".")) == heads(samples_of(folder))


def test_a_name_with_wildcards_may_be_that_of_a_file(folder: Path, tmp_path: Path) -> None:
    """Only a catalogue takes it for a pattern."""
    shutil.copy(folder / "all.root", tmp_path / "a1.root")
    with pytest.raises(UnreadableError, match="no file"):
        samples_of(tmp_path / "a[23].root")
    assert heads(samples_of(tmp_path / "a[12].root"))[0][3] == [str(tmp_path / "a1.root")]


def test_what_is_not_there(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for given in ("x.root", ["x.root"], [folder / "all.root", "x.root"]):
        with pytest.raises(SampleError, match=rf"event file x\.root in the current folder, {tmp_path}$"):
            samples_of(given)
    with pytest.raises(SampleError, match=rf"event file {tmp_path}/x\.toml$"):
        samples_of(tmp_path / "x.toml")
    with pytest.raises(SampleError, match=r"catalogue\.toml"):
        samples_of(tmp_path)
    with pytest.raises(UnreadableError, match=r"no file .*\*\.root"):
        samples_of("*.root")
    with pytest.raises(SampleError, match=r"'ftp:' is not a supported scheme"):
        samples_of("ftp://host/a.root")
    with pytest.raises(SampleError, match=r"catalogue\.toml: expected a single catalogue"):
        samples_of([folder / "catalogue.toml", folder / "all.root"])
    with pytest.raises(SampleError, match="name at least one"):
        catalogue_of([])
