"""Catalogues: what is opened, verified and refused."""

from __future__ import annotations

import hashlib
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
import uproot
from servers import Ranges
from toys import toy_events, write_root

from trigemu import Catalogue, TrigemuError, open_catalogue
from trigemu.api import SampleError
from trigemu.samples.locations import naming
from trigemu.samples.opening import catalogue_of


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
    sample = catalogue(tmp_path, 'files = ["a?.root"]').samples[0]
    assert (sample.entries, sample.hz_per_weight) == (50, pytest.approx(0.1))
    assert [Path(source.path).name for source in sample.sources] == ["a1.root", "a2.root"]


def test_files_are_read_over_http(tmp_path: Path, file: Path) -> None:
    handler = partial(Ranges, directory=tmp_path)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
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
        server.shutdown()


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


def test_an_unknown_sample_names_the_nearest(tmp_path: Path, file: Path) -> None:
    opened = catalogue(tmp_path, 'files = ["a.root"]')
    assert opened.sample("a").name == "a"
    with pytest.raises(TrigemuError, match=r"unknown sample 'aa'.*\(known: a\)"):
        opened.sample("aa")


def open_and_read(folder: Path) -> None:
    sample = catalogue(folder, 'files = ["a.root"]').samples[0]
    sample.read(0, 0, sample.entries, [("jet", "eta"), ("muon", "charge"), ("", "met")])


def test_truncated_files_are_refused(tmp_path: Path, file: Path) -> None:
    content = file.read_bytes()
    for part in (0.02, 0.5, 0.9, 1 - 1 / len(content)):
        file.write_bytes(content[: int(len(content) * part)])
        with pytest.raises(TrigemuError, match=r"sample 'a': .*a\.root(: has \d+ of its| cannot be read)"):
            open_and_read(tmp_path)


def test_a_simulation_without_its_sums_cannot_be_normalised(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "a.root") as root:
        root.mktree("Events", {"genWeight": "f8"})
        root["Events"].extend({"genWeight": np.ones(3)})
    with pytest.raises(TrigemuError, match="Runs/genEventSumw"):
        catalogue(tmp_path, 'files = ["a.root"]')


def test_recorded_events_weigh_the_same(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "a.root") as root:
        root.mktree("Events", {"MET_pt": "f4"})
        root["Events"].extend({"MET_pt": np.arange(4, dtype="f4")})
    sample = catalogue(tmp_path, 'files = ["a.root"]').samples[0]
    assert sample.read(0, 0, 4, [("", "met")]).weight == pytest.approx([2.5] * 4)


def test_empty_samples_are_refused(tmp_path: Path) -> None:
    write_root(tmp_path / "a.root", [], sum_of_weights=5.0)
    with pytest.raises(TrigemuError, match=r"sample 'a': .*a\.root has no events"):
        catalogue(tmp_path, 'files = ["a.root"]')


def test_files_of_one_sample_have_the_same_branches(tmp_path: Path, file: Path) -> None:
    with uproot.recreate(tmp_path / "a2.root") as root:
        root.mktree("Events", {"MET_pt": "f4"})
        root["Events"].extend({"MET_pt": np.arange(4, dtype="f4")})
    with pytest.raises(TrigemuError, match=r"a2\.root has different branches from .*a\.root"):
        catalogue(tmp_path, 'files = ["a*.root"]')


def test_files_of_one_sample_may_have_other_decisions(tmp_path: Path) -> None:
    for i, bits in enumerate((("HLT_A", "L1_B"), ("HLT_A", "L1_C"))):
        with uproot.recreate(tmp_path / f"a{i}.root") as root:
            root.mktree("Events", {"MET_pt": "f4"} | dict.fromkeys(bits, "bool"))
            arrays = {"MET_pt": np.ones(3, "f4")} | {bit: np.ones(3, bool) for bit in bits}
            root["Events"].extend(arrays)
    sample = catalogue(tmp_path, 'files = ["a*.root"]').samples[0]
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
    with uproot.recreate(tmp_path / "a.root") as root:
        root.mktree("Events", {"genWeight": "f8"})
        root["Events"].extend({"genWeight": np.array(weights)})
        if stored:
            root.mktree("Runs", {"genEventSumw": "f8"})
            root["Runs"].extend({"genEventSumw": np.array([stored])})
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
        ("a.dat", b"\x01\0\x02", f"unknown format: it is binary data of another kind, {KNOWN}"),
        ("a.txt", b"\xff\xfe", f"unknown format: it is binary data of another kind, {KNOWN}"),
        ("a.log", b"\n trigger rate\nJ100 3\n", f"it is text that begins with 'trigger rate', {KNOWN}"),
        ("a.csv", 600 * "µ".encode(), "it is text that begins with 'µµµ"),
        ("a.txt", b"", f"unknown format: it is empty, {KNOWN}"),
        ("a.txt", b" \n", f"unknown format: it is blank, {KNOWN}"),
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
    ("error", "expected"),
    [
        (MemoryError(), "there is not enough memory"),
        (ValueError("bad"), r"sample 'a': .*a\.root cannot be read \(ValueError: bad\)"),
    ],
)
def test_a_file_is_blamed_for_its_own_mistakes(error: Exception, expected: str) -> None:
    with pytest.raises(TrigemuError, match=expected), naming("a", "a.root"):
        raise error


@pytest.mark.parametrize(
    ("module", "error", "expected"),
    [
        ("numba.core.caching", ValueError, ValueError),
        ("trigemu.samples.sample", AssertionError, AssertionError),
        ("uproot.models", AssertionError, SampleError),  # of what is in a file
    ],
)
def test_a_fault_of_the_program_is_not_the_mistake_of_a_file(
    module: str, error: type[Exception], expected: type[Exception]
) -> None:
    scope: dict[str, Any] = {"__name__": module, "error": error}
    exec("def load():\n    raise error('bad')", scope)
    with pytest.raises(expected, match="bad"), naming("a", "a.root"):
        scope["load"]()
