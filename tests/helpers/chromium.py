"""Chromium without a window, told what to do over a pair of pipes (the DevTools protocol)."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
_END = b"\0"
#: Chromium reads from descriptor 3 and writes to 4; then this process becomes it.
_AS_THREE_AND_FOUR = """
import fcntl, os, sys
high = [fcntl.fcntl(int(given), fcntl.F_DUPFD, 10) for given in sys.argv[1:3]]
os.dup2(high[0], 3)
os.dup2(high[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Page:
    """One tab. complaints: what was written to the console, or went wrong, as texts."""

    def __init__(self, to: int, of: int) -> None:
        self._to, self._of, self._rest, self._number = to, of, b"", 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self._events: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + _END)
        while (answer := self._next()).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _next(self) -> dict[str, Any]:
        while _END not in self._rest:
            part = os.read(self._of, 1 << 20)
            assert part, "chromium has ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(_END)
        found: dict[str, Any] = json.loads(message)
        self._note(found.get("method", ""), found.get("params", {}))
        return found

    def _note(self, method: str, params: dict[str, Any]) -> None:
        self._events.append(method)
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(json.dumps(params))
        url = params.get("request", {}).get("url", "")
        if method == "Network.requestWillBeSent" and not url.startswith(("file:", "data:")):
            self.complaints.append(f"asks for {url}")

    def open(self, file: Path, width: int, dark: bool = False, height: int = 900) -> None:
        """Show a file in a window of so many pixels, and wait until it is there."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,  # which would widen the window with what overflows it
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        self.call("Page.navigate", url=file.resolve().as_uri())
        while "Page.loadEventFired" not in self._events:
            self._next()

    def value(self, script: str) -> Any:
        """What an expression in JavaScript gives."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def key(self, name: str) -> None:
        """Press a key, such as ArrowUp, and release it."""
        code = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}[name]
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def picture(self, whole: bool = True) -> bytes:
        """The whole page, or only the window, as PNG."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(answer["data"])

    def printed(self) -> bytes:
        """As PDF on A4."""
        answer = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)
        return base64.b64decode(answer["data"])


@contextmanager
def browser(profile: Path) -> Iterator[Page]:
    """profile: a folder for what a browser keeps."""
    assert PROGRAM
    mine, its = os.pipe(), os.pipe()  # what it reads, what it writes

    command = [
        PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
        "--disable-dev-shm-usage", f"--user-data-dir={profile}", "about:blank",
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", _AS_THREE_AND_FOUR, str(mine[0]), str(its[1]), *command],
        pass_fds=(mine[0], its[1]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(mine[0])
    os.close(its[1])
    try:
        yield Page(mine[1], its[0])
    finally:
        process.terminate()
        process.wait(10)
        os.close(mine[1])
        os.close(its[0])
