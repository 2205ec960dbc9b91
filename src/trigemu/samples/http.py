"""Answers of HTTP servers, bounded in time and size."""

from __future__ import annotations

import re
from typing import Any

import aiohttp

from trigemu.base.errors import SampleError, excerpt

#: Seconds to wait for a connection, and for further data.
CONNECT_S, SILENT_S = 30.0, 60.0
#: Seconds for a complete answer, and its largest size if no part of a file was requested.
ANSWER_S, LARGEST_ANSWER = 300.0, 2**30


def client() -> dict[str, Any]:
    """Return the options of aiohttp's client that limit the time for an answer."""
    waiting = aiohttp.ClientTimeout(total=ANSWER_S, sock_connect=CONNECT_S, sock_read=SILENT_S)
    return {"timeout": waiting, "response_class": _Answer}


class _Answer(aiohttp.ClientResponse):
    """The answer of a server, limited to the requested number of bytes."""

    async def read(self) -> bytes:
        requested = re.fullmatch(r"bytes=(\d+)-(\d+)", self.request_info.headers.get("Range", ""))
        if requested and (content_range := self.headers.get("Content-Range")):
            self._check_range(content_range, int(requested[1]), int(requested[2]))
        most = int(requested[2]) - int(requested[1]) + 1 if requested and self.ok else LARGEST_ANSWER
        parts, size = [], 0
        async for part in self.content.iter_any():
            parts.append(part)
            if (size := size + len(part)) > most:
                self.close()
                raise SampleError(
                    f"the server sends more than the {most} requested bytes: it may not serve parts of "
                    f"files; download the file"
                )
        return b"".join(parts)

    def _check_range(self, content_range: str, first: int, last: int) -> None:
        """Raise SampleError if the server sends another part of a file than requested; a part may be shorter
        at the end of the file."""
        sent = re.fullmatch(r"bytes (\d+)-(\d+)/(?:\d+|\*)", content_range)
        if sent is None or int(sent[1]) != first or not first <= int(sent[2]) <= last:
            self.close()
            raise SampleError(
                f"the server sends {excerpt(content_range)!r} instead of bytes {first}-{last}: it may not "
                f"serve parts of files; download the file"
            )
