"""Files on servers, and folders without any."""

from __future__ import annotations

import sys
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import awkward as ak
import h5py
import numpy as np
import pytest
from places import (
    check_nothing_else_is_opened,
    check_others_get_to_the_libraries,
    libraries as libraries,
    of_format,
)
from servers import Ranges
from toys import toy_events, write_root
from trigemu_formats import PLUGIN

from trigemu import TrigemuError, catalogue_of, open_catalogue
from trigemu.api import SampleError

#: Catalogues are the same for all formats, and tested with those of the core.
PLACES = {name: of_format(name)[f"source, {name}"] for name in PLUGIN.formats}


@pytest.mark.parametrize("place", PLACES)
def test_nothing_else_is_opened(tmp_path: Path, libraries: list[object], place: str) -> None:
    check_nothing_else_is_opened(tmp_path, libraries, PLACES[place], in_catalogue=False)


@pytest.mark.parametrize("place", PLACES)
def test_what_is_not_refused_gets_to_the_libraries(
    tmp_path: Path, libraries: list[object], place: str
) -> None:
    check_others_get_to_the_libraries(tmp_path, libraries, PLACES[place], local=False)


def test_a_file_of_any_format_is_read_over_http(tmp_path: Path) -> None:
    met = np.arange(50.0)
    ak.to_parquet(ak.Array({"met": met}), tmp_path / "b.parquet", row_group_size=20)
    particles = np.zeros((50, 19, 4))
    particles[:, 0, 0] = met
    with h5py.File(tmp_path / "c.h5", "w") as challenge:
        challenge["Particles"] = particles
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Ranges, directory=tmp_path)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        for name, format in (("b.parquet", "parquet"), ("c.h5", "challenge")):
            (sample,) = catalogue_of(f"{url}/{name}").samples
            assert (sample.table.format, sample.entries) == (format, 50)
            assert sample.read(0, 15, 45, [("", "met")]).scalars["met"].tolist() == met[15:45].tolist()
        server.shutdown()


def test_a_folder_without_any_samples(tmp_path: Path) -> None:
    with pytest.raises(SampleError, match=r"has neither a catalogue\.toml nor files \*\.parquet"):
        catalogue_of(tmp_path)


def test_the_files_of_a_dataset_are_physlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_root(tmp_path / "a.root", toy_events(1, 20))
    answers = SimpleNamespace(
        get_metadata=lambda key: {"cross_section_pb": 1.0, "genFiltEff": 1.0, "kFactor": 1.0},
        get_urls=lambda key, **options: [str(tmp_path / "a.root")],
    )
    monkeypatch.setitem(sys.modules, "atlasopenmagic", answers)
    (tmp_path / "catalogue.toml").write_text(
        '[catalogue]\nname = "c"\nconvention = "luminosity"\nluminosity_cm2s = 1e34\n'
        '[[sample]]\nname = "a"\nrole = "background"\ndataset = 301204\n'
    )
    with pytest.raises(TrigemuError, match="no tree 'CollectionTree' or 'EventData'"):
        open_catalogue(tmp_path / "catalogue.toml")
