"""Servers on this machine."""

from __future__ import annotations

from http.server import SimpleHTTPRequestHandler
from pathlib import Path


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
