"""A script that writes conifer's project of a model, run as a process since conifer uses the current folder.

    python convert.py MODEL.json FOLDER        # {"ensemble": …, "config": …}, in the format of conifer

The same model gives the same bytes; conifer alone would write time, machine, user and folder into its files.
The script does not load trigemu, which would take longer than the conversion.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

#: Private names of conifer and their new values, checked with version 1.11.
WITHOUT_ORIGIN = {"_stamp": 0, "_metadata": []}


def convert(ensemble: dict[str, Any], config: dict[str, Any], folder: Path) -> None:
    """Write conifer's project of an ensemble into a folder."""
    import conifer

    config = {"OutputDir": str(folder), **config}
    model = conifer.model.make_model(ensemble, config)
    for name, value in WITHOUT_ORIGIN.items():
        if not hasattr(model, name):
            sys.exit(
                f"conifer {version('conifer')} has no {type(model).__name__}.{name}, which trigemu needs"
            )
        setattr(model, name, value)
    model.write()
    document = folder / f"{config['ProjectName']}.json"
    written = json.loads(document.read_text())
    written["config"]["output_dir"] = "."
    document.write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    document = json.loads(Path(sys.argv[1]).read_text())
    try:
        convert(document["ensemble"], document["config"], Path(sys.argv[2]))
    except Exception as error:  # an error of conifer; the caller shows the message
        sys.exit(f"conifer: {type(error).__name__}: {error}")
