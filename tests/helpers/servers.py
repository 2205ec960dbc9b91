"""Servers on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import ClassVar

import pytest

from trigemu import TrigemuError, catalogue_of
from trigemu.samples import locations, opening


@contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server that answers with this handler."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class Ranges(SimpleHTTPRequestHandler):
    """Serves parts of files, as the servers of open data do and Python's own does not."""

    def do_GET(self) -> None:
        file, wanted = Path(self.translate_path(self.path)), self.headers.get("Range")
        if not file.is_file() or not wanted:
            super().do_GET()
            return
        content = file.read_bytes()
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        part = content[int(first) : int(last or len(content)) + 1]
        self.send_response(206)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}")
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class Silent(BaseHTTPRequestHandler):
    """Says that it has a file of 10 kB, and sends nothing."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "10000")
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(206)
        self.end_headers()
        Event().wait(2)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class Elsewhere(Silent):
    """Sends as many bytes as were asked for, from another place of the file; without `told`, more."""

    told: ClassVar[str] = ""

    def do_GET(self) -> None:
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
        size = int(last) - int(first) + (1 if self.told else 2)
        self.send_response(206 if self.told else 200)
        self.send_header("Content-Length", str(size))
        if self.told:
            self.send_header("Content-Range", self.told.format(int(first) + 1, int(last) + 1, last))
        self.end_headers()
        self.wfile.write(bytes(size))


def check_a_server_that_falls_silent(name: str, format: str) -> None:
    """A file of a format is not waited for without end."""
    with serving(Silent) as url, pytest.MonkeyPatch.context() as patch:
        patch.setattr(locations, "SILENT_S", 0.3)
        patch.setattr(opening, "PAUSE_S", 0.0)
        with pytest.raises(TrigemuError, match="Timeout"):
            catalogue_of(f"{url}/{name}", format)
