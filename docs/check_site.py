"""Check the links of a built site, and of README.md: `python docs/check_site.py SITE`.

Links within the site lead to a page that exists, and to a place in it. Nothing is loaded from a network.
Links to other sites are well-formed; they are not followed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
#: Attributes from which a browser loads something as the page opens.
_LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "src"),
    ("video", "src"),
}
_HOST = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?")
_MARKDOWN = re.compile(r"\]\(([^)\s]+)\)")


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        for name, value in given.items():
            if (tag, name) in _LOADED and given.get("rel") not in (
                "canonical",
                "next",
                "prev",
                "index",
                "search",
            ):
                self.loaded.append(value)


def mistakes(site: Path) -> Iterator[str]:
    """Yield a sentence for each broken link of a site."""
    pages = {
        file.resolve(): Page(file) for file in sorted(site.rglob("*.html")) if not _made_by_theme(file, site)
    }
    for file, page in pages.items():
        at = file.relative_to(site.resolve())
        for link in page.loaded:
            if urlsplit(link).scheme not in ("", "data"):
                yield f"{at} loads {link} from a network"
            elif not link.startswith("data:") and not (file.parent / unquote(urlsplit(link).path)).exists():
                yield f"{at} loads {link}, which does not exist"
        for link in page.links:
            yield from (f"{at}: {link} {wrong}" for wrong in _wrong(link, file, pages))
    for file in site.rglob("*.css"):
        found = re.findall(r"(?:url\(|@import\s+)['\"]?(https?:[^'\")\s]+)", file.read_text())
        yield from (f"{file.relative_to(site)} loads {link} from a network" for link in found)


def _made_by_theme(file: Path, site: Path) -> bool:
    """Whether a file is a template of the theme, or the list of modules, to which nothing links."""
    return file.relative_to(site).parts[0] == "_static" or file == site / "_modules" / "index.html"


def _wrong(link: str, file: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """Yield what is wrong with a link."""
    parts = urlsplit(link)
    if parts.scheme in ("http", "https"):
        if not _HOST.fullmatch(parts.netloc) or re.search(r"[\s<>…]", link):
            yield "is not a URL"
    elif parts.scheme != "mailto":
        target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        target = target / "index.html" if target.is_dir() else target
        place = unquote(parts.fragment)
        if not target.exists():
            yield "leads nowhere"
        elif place and target in pages and place not in pages[target].places and place != "":
            yield "leads to no place on its page"


def mistakes_of_readme() -> Iterator[str]:
    """Yield a sentence for each link of README.md to a file that does not exist."""
    for link in _MARKDOWN.findall((ROOT / "README.md").read_text()):
        if not urlsplit(link).scheme and not (ROOT / link.partition("#")[0]).exists():
            yield f"README.md: {link} leads nowhere"


if __name__ == "__main__":
    found = [*mistakes(Path(sys.argv[1])), *mistakes_of_readme()]
    print("\n".join(found) or "all links lead somewhere, and nothing is loaded from a network")  # noqa: T201
    sys.exit(bool(found))
