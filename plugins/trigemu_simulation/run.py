"""The two stages of generating a sample.

    configuration ──► interactions ──► events or ──► ROOT files + catalogue.toml
    (TOML)            (stage one:      crossings
                      blocks on disk)  (stage two: pile-up, fakes, MET, thresholds)

Stage one is slow, runs in any number of processes, and continues where it was interrupted; stage two takes
seconds and can be tuned without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from trigemu import __version__

from . import blocks, crossings, events, pools, pythia, tuning, write
from .config import Config, Slice, load_config

INTERACTIONS = "interactions"  # the folder of stage one, inside the output
CATALOGUE = "catalogue.toml"


def generate(
    config: str | Path | Config,
    output: Path,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Generate interactions, then events or crossings, into a folder; return the catalogue.

    The result depends only on the configuration, not on workers (processes for interactions, threads for
    crossings) or interruptions. progress: called with the number of further interactions, and the total.
    """
    settings = config if isinstance(config, Config) else load_config(config)
    generate_interactions(settings, output, workers=workers, progress=progress)
    return _write(settings, output, workers)


def tune(
    config: str | Path | Config,
    output: Path,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
    report: Callable[[tuning.Step], None] = lambda step: None,
) -> Config:
    """Adjust luminosity and fakes of a configuration with [crossings] to the paper's rates (`tuning.py`).

    Missing interactions are generated first; then each step runs only stage two, and is reported.
    """
    settings = config if isinstance(config, Config) else load_config(config)
    generate_interactions(settings, output, workers=workers, progress=progress)
    return tuning.tune(settings, lambda changed: _write(changed, output, workers), report)


def written_files(config: Config, output: Path) -> list[Path]:
    """Return the existing files of stage two in the folder, which will be replaced."""
    files = [output / CATALOGUE, *(output / write.file_name(part) for part in config.slices)]
    return [file for file in files if file.exists()]


def generate_interactions(
    config: str | Path | Config,
    output: Path,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Run only stage one: make the missing blocks in output/interactions."""
    settings = config if isinstance(config, Config) else load_config(config)
    blocks.make_all(settings, output / INTERACTIONS, workers, progress)


def _write(settings: Config, output: Path, threads: int = 1) -> Path:
    """Run stage two, from the interactions in output to the catalogue, and return its path."""
    samples = []
    for part, columns, norm in _samples(settings, output / INTERACTIONS, threads):
        digest = write.root_file(output / write.file_name(part), columns, norm)
        samples.append((part, norm, digest))
    generated_by = (
        f"trigemu {__version__}, configuration {settings.name}, seed {settings.seed}, "
        f"Pythia {pythia.version()}"
    )
    path = output / CATALOGUE
    write.catalogue(path, settings, generated_by, samples, _pt_bits(settings))
    return path


def _pt_bits(settings: Config) -> dict[str, int]:
    if settings.crossings is None:
        return dict.fromkeys((*pools.PT_BITS, "met"), events.MANTISSA_BITS)
    return {**pools.PT_BITS, "met": crossings.MET_BITS}


def _samples(
    config: Config, folder: Path, threads: int
) -> Iterator[tuple[Slice, events.EventColumns, write.Normalisation]]:
    """Yield each slice with its events and normalisation, in order."""
    if config.crossings is None:
        for number, part in enumerate(config.slices):
            yield part, *_slice(config, number, folder)
        return
    loaded = [pools.load(config, number, folder) for number in range(len(config.slices))]
    classes = [pool for pool in loaded if pool.part.role == "background"]
    for pool in loaded:
        yield pool.part, *crossings.make(crossings.recipe(config, classes, pool), threads)


def _slice(config: Config, number: int, folder: Path) -> tuple[events.EventColumns, write.Normalisation]:
    part = config.slices[number]
    rows, summaries = pools.read_rows(part, folder, config)
    generated = np.array([s.generated for s in summaries])
    norm = write.Normalisation(
        cross_section_pb=float(np.average([s.cross_section_pb for s in summaries], weights=generated)),
        filter_efficiency=sum(s.sumw for s in summaries) / sum(s.generated_sumw for s in summaries),
        count=np.array([s.accepted for s in summaries]),
        sumw=np.array([s.sumw for s in summaries]),
        sumw2=np.array([s.sumw2 for s in summaries]),
        k_factor=part.k_factor,
    )
    return crossings.single(rows, number, config), norm
