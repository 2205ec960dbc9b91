"""ATLAS Open Data: complete a catalogue entry with the metadata of its dataset, from atlasopenmagic.

[[sample]]
name = "Zprime_ee"
role = "signal"
dataset = 301204        # → files, cross_section_pb, filter_efficiency, k_factor

The release is the one set for atlasopenmagic (ATLAS_RELEASE, 2024r-pp by default). Keys in the entry take
precedence; if all are given, nothing is looked up.
"""

from __future__ import annotations

from typing import Any

from trigemu.samples.errors import SampleError
from trigemu.support import MissingExtraError

#: Key in the catalogue → field in atlasopenmagic.
FIELDS = {"cross_section_pb": "cross_section_pb", "filter_efficiency": "genFiltEff", "k_factor": "kFactor"}


def completed(entry: dict[str, Any]) -> dict[str, Any]:
    """Complete a catalogue entry that has a `dataset`; return other entries unchanged. Raises
    MissingExtraError, or a SampleError with the keys to write instead."""
    dataset = entry.get("dataset")
    missing = [key for key in ("files", *FIELDS) if key not in entry]
    if dataset is None or not missing:
        return entry
    try:
        import atlasopenmagic
    except ImportError:
        raise MissingExtraError(f"dataset = {dataset!r}", "atlas", "atlasopenmagic") from None
    try:
        metadata = atlasopenmagic.get_metadata(str(dataset))
        files = (
            atlasopenmagic.get_urls(str(dataset), protocol="https", cache=False) if "files" in missing else []
        )
    except Exception as error:  # of requests, or of the server's answer
        reason = " ".join(str(error).split())[:200]
        raise SampleError(
            f"dataset = {dataset!r}: atlasopenmagic returned nothing ({type(error).__name__}: {reason}); "
            f"without it write {', '.join(missing)} in the entry"
        ) from error
    values = {key: metadata.get(field) for key, field in FIELDS.items()} | {"files": files}
    additions = {key: values[key] for key in missing if values[key] is not None}
    if "cross_section_pb" in additions | entry and (
        lacking := [key for key in missing if key not in additions]
    ):
        raise SampleError(
            f"dataset = {dataset!r}: atlasopenmagic does not have {', '.join(lacking)}; write it in the entry"
        )
    return {"format": "physlite", **additions, **entry}
