"""Open every page of a built site in Chromium: `python docs/check_browser.py SITE [FOLDER]`.

At 1280 and 400 pixels no page is wider than its window, and none asks for anything from a network. Pictures
of all pages are written to FOLDER, if one is given.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
from chromium import browser

WIDTHS = (1280, 400)


def mistakes(site: Path, pictures: Path | None) -> Iterator[str]:
    """Yield a sentence for each page that is too wide, or asks for something."""
    pages = [file for file in sorted(site.rglob("*.html")) if file.relative_to(site).parts[0][0] != "_"]
    with tempfile.TemporaryDirectory() as profile, browser(Path(profile)) as window:
        for file in pages:
            name = file.relative_to(site)
            for width in WIDTHS:
                window.complaints.clear()
                window.open(file, width)
                wide = window.value("document.documentElement.scrollWidth")
                if wide > width:
                    yield f"{name} is {wide} pixels wide in a window of {width}"
                yield from (f"{name} {text}" for text in window.complaints if text.startswith("asks for "))
                if pictures:
                    stem = "-".join(name.with_suffix("").parts)
                    (pictures / f"{stem}-{width}.png").write_bytes(window.picture())


if __name__ == "__main__":
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    found = list(mistakes(Path(sys.argv[1]), folder))
    print("\n".join(found) or "all pages fit, and none asks for anything from a network")  # noqa: T201
    sys.exit(bool(found))
