"""Answers of HTTP servers: bounded in time, and only the requested part of a file."""

from __future__ import annotations

import re
from typing import Any

import aiohttp

from trigemu.base.errors import SampleError, excerpt

#: Seconds to wait for a connection, for further data, and for a complete answer.
CONNECT_S, SILENT_S, ANSWER_S = 30.0, 60.0, 300.0


def client() -> dict[str, Any]:
    """Return the options of aiohttp's client."""
    waiting = aiohttp.ClientTimeout(total=ANSWER_S, sock_connect=CONNECT_S, sock_read=SILENT_S)
    return {"timeout": waiting, "response_class": _Answer}


class _Answer(aiohttp.ClientResponse):
    async def read(self) -> bytes:
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.request_info.headers.get("Range", ""))
        sent = self.headers.get("Content-Range", "")
        if asked and self.ok:
            first, last = int(asked[1]), int(asked[2])
            other_part = bool(sent) and not sent.startswith(f"bytes {first}-")
            if other_part or (self.content_length or 0) > last - first + 1:
                self.close()
                part = repr(excerpt(sent)) if sent else "more"
                raise SampleError(
                    f"the server sends {part} instead of bytes {first}-{last}: it may not serve parts of "
                    f"files; download the file"
                )
        return await super().read()
