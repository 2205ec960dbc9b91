"""Servers on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import ClassVar

import pytest

from trigemu import TrigemuError, catalogue_of
from trigemu.samples import files, http


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


class Endless(BaseHTTPRequestHandler):
    """Says that it has a file of 10 kB; sends nothing, or does not end."""

    silent: ClassVar[bool] = False

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "10000")
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(206)
        self.end_headers()
        with suppress(OSError):
            while not self.silent:
                self.wfile.write(b"root" * 2**14)
        Event().wait(2 * self.silent)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class Elsewhere(Endless):
    """Sends as many bytes as were asked for, from another place of the file."""

    told: ClassVar[str] = ""

    def do_GET(self) -> None:
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
        size = int(last) - int(first) + 1
        self.send_response(206)
        self.send_header("Content-Length", str(size))
        self.send_header("Content-Range", self.told.format(int(first) + 1, int(last) + 1, last))
        self.end_headers()
        self.wfile.write(bytes(size))


@contextmanager
def _endless(silent: bool) -> Iterator[str]:
    """The address of such a server; nobody waits long for it."""
    handler = type("Handler", (Endless,), {"silent": silent})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(http, "SILENT_S", 0.3)
        patch.setattr(files, "PAUSE_S", 0.0)
        server.daemon_threads = True
        server.block_on_close = False
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def check_a_server_that_falls_silent(name: str, format: str) -> None:
    """A file of a format is not waited for without end."""
    with _endless(silent=True) as url, pytest.raises(TrigemuError, match="Timeout"):
        catalogue_of(f"{url}/{name}", format)


def check_a_server_that_never_ends(name: str, format: str) -> None:
    """No more is read than was asked for."""
    message = "sends more than the .* requested bytes"
    with _endless(silent=False) as url, pytest.raises(TrigemuError, match=message):
        catalogue_of(f"{url}/{name}", format)
