"""The two stages of generating a sample.

    configuration ──► interactions ──► crossings ──► ROOT files + catalogue.toml
    (TOML)            (stage one:      (stage two: pile-up, fakes, MET, thresholds)
                      blocks on disk)

Stage one is slow, runs in any number of processes, and continues where it was interrupted; stage two takes
seconds, and can be repeated with another luminosity, other fakes and target weights.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trigemu import __version__

from . import blocks, crossings, pools, pythia, write
from .config import Config, load_config

INTERACTIONS = "interactions"  # the folder of stage one, inside the output
CATALOGUE = "catalogue.toml"


def generate(
    config: str | Path | Config,
    output: Path,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Generate interactions, then crossings, into a folder; return the catalogue.

    The result depends only on the configuration, not on workers (processes for interactions, threads for
    crossings) or interruptions. progress: called with the number of further interactions, and the total.
    """
    settings = config if isinstance(config, Config) else load_config(config)
    folder = output / INTERACTIONS
    blocks.make_all(settings, folder, workers, progress)
    loaded = [pools.load(settings, number, folder) for number in range(len(settings.slices))]
    classes = [pool for pool in loaded if pool.part.role == "background"]
    samples = []
    for pool in loaded:
        columns, norm = crossings.make(crossings.recipe(settings, classes, pool), workers)
        digest = write.root_file(output / write.file_name(pool.part), columns, norm)
        samples.append((pool.part, norm, digest))
    generated_by = (
        f"trigemu {__version__}, configuration {settings.name}, seed {settings.seed}, "
        f"Pythia {pythia.version()}"
    )
    write.catalogue(output / CATALOGUE, settings, generated_by, samples)
    return output / CATALOGUE


def written_files(config: Config, output: Path) -> list[Path]:
    """Return the existing files of stage two in the folder, which will be replaced."""
    files = [output / CATALOGUE, *(output / write.file_name(part) for part in config.slices)]
    return [file for file in files if file.exists()]
