"""Make anew what rests on the embedded sample: `python .ci/renew.py FOLDER [STAGE …]`.

FOLDER is what `trigemu generate embedded -o FOLDER` wrote. The stages, in order, of which some can be named:

    sample      the files of FOLDER become those that come with the package
    models      the two sets of DECADE models are trained; half an hour
    menus       menus name the new cards by their sha256
    figures     pictures in README and docs
    validation  the page of validation, and its pictures
    reference   what the pages of the reference say of keys, columns, commands and names
    examples    output that is shown in README, docs and docstrings
    check       the tests that hold numbers, and the examples

Text that interprets numbers is not rewritten: read the difference.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "src/trigemu/samples/embedded"
MODELS = ROOT / "plugins/trigemu_decade/models"
IMAGES = ROOT / "docs/images"
LIMIT = 35_000_000  # bytes of the sample, which is in the wheel
SPECTRA = ("leading_jet_pT", "leading_photon_pT", "missing_ET", "number_of_photons")
#: Pictures of the pages, and what the report calls them.
REPORT = {
    "efficiency_diphoton": "turnon_photon_0_pt_n_jet_eq_0",
    "score_against_photon_pT": "decade_decade_AD_density_photon_0_pt",
}
#: Width and height of pictures of the pages in pixels, and the state of the explorer.
SCREEN = 1280, 800
MOVED = "A=full;J100:t110&pick=J100"


def sample(folder: Path) -> None:
    """Copy the sample, without what stage one left there."""
    catalogue = tomllib.loads((folder / "catalogue.toml").read_text(encoding="utf-8"))
    files = {
        name: digest
        for s in catalogue["sample"]
        for name, digest in zip(s["files"], s["sha256"], strict=True)
    }
    for name, digest in files.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            sys.exit(
                f"{folder / name} is not the file that its catalogue describes: generate the sample again"
            )
    size = sum((folder / name).stat().st_size for name in files)
    if size >= LIMIT:
        sys.exit(
            f"{folder}: {size / 1e6:.1f} MB, at most {LIMIT / 1e6:.0f}: raise target weights, or store less"
        )
    print(f"{len(files)} files, {size / 1e6:.1f} MB")
    made = Path(tempfile.mkdtemp(dir=SAMPLE.parent, prefix="renewed-"))
    for name in (*files, "catalogue.toml"):
        shutil.copyfile(folder / name, made / name)
    made.chmod(0o755)
    shutil.rmtree(SAMPLE)
    made.rename(SAMPLE)


def models(_: Path) -> None:
    """Train both sets."""
    for name in ("primary", "full"):
        with tempfile.TemporaryDirectory(dir=MODELS, prefix=".renewed-") as scratch:
            trigemu("decade", "train", str(MODELS / name / "train.toml"), "-o", str(Path(scratch) / name))
            flat(Path(scratch) / name, MODELS / name)


def flat(made: Path, folder: Path) -> None:
    """Move a trained set to its folder, with its files beside its card in place of a folder named by a
    digest."""
    (files,) = made.glob("decade-*")
    card = (made / "decade.toml").read_text(encoding="utf-8").replace(f"{files.name}/", "")
    for file in files.iterdir():
        file.replace(folder / file.name)
    (folder / "decade.toml").write_text(card, encoding="utf-8")


def menus(_: Path) -> None:
    """Give each card in the menus its sha256."""
    for menu in sorted((ROOT / "menus").glob("*.toml")):
        text = menu.read_text(encoding="utf-8")

        def renewed(found: re.Match[str], menu: Path = menu) -> str:
            return f"{found[1]}{digest((menu.parent / found[2]).resolve())}"

        made = re.sub(r'(card = "([^"]+)"\nsha256 = ")[0-9a-f]{64}', renewed, text)
        menu.write_text(made, encoding="utf-8")


def figures(_: Path) -> None:
    """Draw the spectra, two figures of the report, the first screens of the report and the explorer, and the
    latency of the anomaly trigger."""
    with tempfile.TemporaryDirectory() as scratch:
        trigemu("samples", "--plots", scratch)
        names = ("primary", "baseline", "decade")
        profiles = ("--efficiency", "menus/paper.toml", "--efficiency", "menus/signals.toml")
        made = ("-o", f"{scratch}/report.html", "--figures", f"{scratch}/report")
        trigemu("report", *(f"menus/{name}.toml" for name in names), *profiles, *made)
        for name in SPECTRA:
            shutil.copyfile(Path(scratch) / f"{name}.png", IMAGES / f"{name}.png")
        for name, drawn in REPORT.items():
            shutil.copyfile(Path(scratch) / "report" / f"{drawn}.png", IMAGES / f"{name}.png")
        trigemu("explore", "menus/full.toml", "--signal", "yy", "-o", f"{scratch}/explorer.html")
        screens(Path(scratch))
    trigemu("bench", "menus/decade.toml", "--figure", str(IMAGES / "latency_decade.png"))


def screens(folder: Path) -> None:
    """Photograph the first screens of the pages in a folder; the explorer with a threshold that was moved."""
    sys.path.insert(0, str(ROOT / "tests/helpers"))
    import chromium

    with chromium.browser(folder / "profile") as page:
        for name in ("report", "explorer"):
            page.open(folder / f"{name}.html", SCREEN[0], height=SCREEN[1])
            if name == "explorer":
                page.value(f"location.hash = {MOVED!r}; new Promise((resolve) => setTimeout(resolve, 3000))")
            (IMAGES / f"{name}.png").write_bytes(page.picture(whole=False))


def validation(_: Path) -> None:
    """Compare the sample with published measurements."""
    run(sys.executable, "docs/validation/make.py")


def reference(_: Path) -> None:
    """Write the parts of the reference that the program knows."""
    run(sys.executable, "docs/reference_text.py")


def examples(_: Path) -> None:
    """Write the shown output anew, where nothing in it is left out."""
    run(sys.executable, ".ci/docstrings.py")
    run(*PYTEST, "-p", "docs.blocks", "docs", "README.md", "plugins", env={"DOCS_UPDATE": "1"})


def check(_: Path) -> None:
    """Run what compares numbers with the sample."""
    run(
        *PYTEST,
        "tests/core/samples/test_embedded.py",
        "tests/core/cli/test_documents.py",
        "tests/plugins",
        "tests/test_reference.py",
    )
    run(*PYTEST, "-p", "docs.blocks", "docs", "README.md", "plugins")
    run(*PYTEST, "--doctest-modules", "src/trigemu")


STAGES: tuple[Callable[[Path], None], ...] = (
    *(sample, models, menus, figures, validation),
    *(reference, examples, check),
)
PYTEST = (sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile")


def digest(file: Path) -> str:
    """Return the sha256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def trigemu(*arguments: str) -> None:
    """Run a command of trigemu; its tables are not shown."""
    run(sys.executable, "-m", "trigemu", *arguments, quiet=True)


def run(*command: str, env: dict[str, str] | None = None, quiet: bool = False) -> None:
    """Run a program in the repository, and end where it fails."""
    out = subprocess.DEVNULL if quiet else None
    done = subprocess.run(command, cwd=ROOT, env=os.environ | (env or {}), stdout=out, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nended with status {done.returncode}")


def main() -> None:
    names = [stage.__name__ for stage in STAGES]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("stages", nargs="*", choices=[*names, []], default=names)
    given = parser.parse_args()
    for stage in STAGES:
        if stage.__name__ in given.stages:
            start = time.monotonic()
            print(f"== {stage.__name__}", flush=True)
            stage(given.folder.resolve())
            print(f"   {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
