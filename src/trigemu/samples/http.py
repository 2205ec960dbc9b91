"""Answers of HTTP servers, bounded in time and size."""

from __future__ import annotations

import re
from typing import Any

import aiohttp

from trigemu.samples.errors import SampleError
from trigemu.support import excerpt

#: Seconds after which a server that accepts no connection, or sends nothing more, is given up.
CONNECT_S, SILENT_S = 30.0, 60.0
#: Seconds for a whole answer, and its bytes where no part of a file was asked for.
ANSWER_S, LARGEST_ANSWER = 300.0, 2**30


def client() -> dict[str, Any]:
    """Return the options of aiohttp's client with which it gives up on a server that does not answer."""
    waiting = aiohttp.ClientTimeout(total=ANSWER_S, sock_connect=CONNECT_S, sock_read=SILENT_S)
    return {"timeout": waiting, "response_class": _Answer}


class _Answer(aiohttp.ClientResponse):
    """The answer of a server, with no more bytes than were asked for."""

    async def read(self) -> bytes:
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.request_info.headers.get("Range", ""))
        if asked and (told := self.headers.get("Content-Range")):
            self._check_range(told, int(asked[1]), int(asked[2]))
        most = int(asked[2]) - int(asked[1]) + 1 if asked and self.ok else LARGEST_ANSWER
        parts, size = [], 0
        async for part in self.content.iter_any():
            parts.append(part)
            if (size := size + len(part)) > most:
                self.close()
                raise SampleError(
                    f"the server sends more than the {most} bytes asked for: it may not serve parts of "
                    f"files; fetch the file"
                )
        return b"".join(parts)

    def _check_range(self, told: str, first: int, last: int) -> None:
        """Raise SampleError if the server sends another part of a file than the one asked for; it may end
        earlier, with the file."""
        sent = re.fullmatch(r"bytes (\d+)-(\d+)/(?:\d+|\*)", told)
        if sent is None or int(sent[1]) != first or not first <= int(sent[2]) <= last:
            self.close()
            raise SampleError(
                f"the server sends {excerpt(told)!r} where bytes {first}-{last} were asked for: it may not "
                f"serve parts of files; fetch the file"
            )
