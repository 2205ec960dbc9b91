"""A catalogue of 40 files of which some are bad: messages, and which files are left out.

    python benchmarks/bad_files.py [--events 5000] [--workers 2]

One file is truncated, one is missing, one has a flipped byte and a sha256 in the catalogue. Without
`--skip-bad-files` one message names all three, and the exit status is 2. With it, rates are those of a
catalogue of the other 37, to the last bit, and JSON names the three. Exit status 1 where something
differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import uproot
from running import ROOT, catalogue_text, linked, trigemu_command

FILES = 40
TRUNCATED, MISSING, FLIPPED = "00007.root", "00019.root", "00031.root"
BAD = (TRUNCATED, MISSING, FLIPPED)
MENU = ROOT / "menus" / "full.toml"
#: Parts of documents on the provenance of the numbers, and on what was left out.
WORDS = ("provenance", "warnings", "left_out")


@dataclass(frozen=True)
class Ran:
    status: int
    messages: str
    document: dict[str, Any] | None

    @property
    def numbers(self) -> str:
        document = self.document or {}
        return json.dumps({key: value for key, value in document.items() if key not in WORDS})


def ran(catalogue: Path, *more: str) -> Ran:
    file = catalogue.with_suffix(".json")
    file.unlink(missing_ok=True)
    command = trigemu_command("run", str(MENU), "--samples", str(catalogue), "--json", str(file), *more)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stderr, json.loads(file.read_text()) if file.exists() else None)


def write(folder: Path, events: int) -> list[str]:
    """Write forty different files, each with a few thousand events of the sample."""
    from repeat import write_repeated

    write_repeated(folder / "made", 2 * events)
    with uproot.open(folder / "made" / "repeated.root") as file:
        arrays = file["Events"].arrays(library="ak")
        weight = float(np.sum(file["Runs/genEventSumw"].array(library="np")))
    good = folder / "good"
    good.mkdir()
    for number in range(FILES):
        part = arrays[number * 17 : number * 17 + events]
        names = [name for name in part.fields if not (name.startswith("n") and name[1:].istitle())]
        with uproot.recreate(good / f"{number:05}.root", compression=uproot.ZSTD(5)) as file:
            collections = {
                name.partition("_")[0] for name in names if f"n{name.partition('_')[0]}" in part.fields
            }
            columns: dict[str, Any] = {
                name: part[name] for name in names if name.partition("_")[0] not in collections
            }
            for of in sorted(collections):
                own = [name for name in names if name.startswith(f"{of}_")]
                columns[of] = _zipped({name.partition("_")[2]: part[name] for name in own})
            file.mktree(
                "Events", {name: _type(column) for name, column in columns.items()}, field_name=_joined
            )
            for start in range(0, events, events // 4):
                file["Events"].extend(
                    {n: column[start : start + events // 4] for n, column in columns.items()}
                )
            file.mktree("Runs", {"genEventSumw": "f8"})
            file["Runs"].extend({"genEventSumw": np.array([weight * (number + 1)])})
    return sorted(file.name for file in good.iterdir())


def _zipped(columns: dict[str, Any]) -> Any:
    import awkward as ak

    return ak.zip(columns)


def _type(column: Any) -> Any:
    return column.type.content


def _joined(collection: str, field: str) -> str:
    return f"{collection}_{field}"


def spoil(folder: Path) -> None:
    (folder / MISSING).unlink()
    content = (folder / TRUNCATED).read_bytes()
    _replace(folder / TRUNCATED, content[: len(content) // 2])
    _replace(folder / FLIPPED, _flipped((folder / FLIPPED).read_bytes(), len(content) // 2))


def _flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def _replace(file: Path, content: bytes) -> None:
    """Write a new file: the old one has further hard links."""
    file.unlink()
    file.write_bytes(content)


def judge(with_all: Path, without: Path, bad: tuple[str, ...], *more: str) -> Iterator[tuple[str, bool]]:
    """Yield each requirement, and whether it is fulfilled."""
    refused = ran(with_all, *more)
    yield "refused with status 2", refused.status == 2 and refused.document is None
    yield "one message names them all", all(name in refused.messages for name in bad)
    yield "no traceback", "Traceback" not in refused.messages
    skipped, others = ran(with_all, "--skip-bad-files", *more), ran(without, *more)
    yield "with the option, status 0", skipped.status == 0 and others.status == 0
    yield "rates of the others, to the last bit", bool(skipped.document) and skipped.numbers == others.numbers
    text = json.dumps(skipped.document)
    yield "JSON names them", all(name in text for name in bad)
    yield (
        "JSON names no other",
        sum(f"{n:05}.root" in _without_provenance(skipped.document) for n in range(FILES)) == len(bad),
    )


def _without_provenance(document: dict[str, Any] | None) -> str:
    return json.dumps({key: value for key, value in (document or {}).items() if key != "provenance"})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=5000, help="In each file.")
    parser.add_argument("--workers", default="2")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="trigemu-bad-") as root:
        folder = Path(root)
        names = write(folder, options.events)
        files = [folder / "good" / name for name in names]
        three, others = folder / "three", folder / "others"
        digest = hashlib.sha256((folder / "good" / FLIPPED).read_bytes()).hexdigest()
        for scratch in (three, others):
            linked(scratch, files, FILES)
        spoil(three)
        digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
        assert digest in digests
        sha256_entry = f"sha256 = {json.dumps(digests)}"
        (three / "catalogue.toml").write_text(catalogue_text(names, sha256_entry))
        good = [name for name in names if name not in BAD]
        (others / "catalogue.toml").write_text(catalogue_text(good))
        workers = ["--workers", options.workers]
        for engine in ([], workers):
            for case, holds in judge(three / "catalogue.toml", others / "catalogue.toml", BAD, *engine):
                name = " ".join(engine) or "one process"
                _say(f"{'yes' if holds else 'NO':5}{name:28}{case}")
                wrong += not holds
    return int(wrong > 0)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
