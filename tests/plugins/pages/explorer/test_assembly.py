"""The page as one file: modules as one script, the content security policy, and what is in plain text."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from trigemu_pages.explorer.page import as_one_script, page_of

MODULES = {
    "main.js": """// Runs all.
import { sum, Counter } from "./engine/index.js";
import {
  LIMIT,
  twice,
} from "./tools.js";

const counter = new Counter();
counter.count();
console.log(sum(LIMIT, twice(counter.value)));
""",
    "tools.js": """export const LIMIT = 40;
const hidden = 2;

export function twice(x) {
  return hidden * x;
}
""",
    "engine/index.js": """import { LIMIT } from "../tools.js";

const hidden = 39;
export class Counter {
  value = LIMIT - hidden;
  count() {}
}
export function sum(a, b) {
  return a + b;
}
""",
    "unused.js": "export async function later() {}\n",
}
#: Of which the script has the first, once.
FILES = {
    "index.html": """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<!-- policy -->
<!-- title -->
<!-- style -->
</head><body><main id="page"></main>
<!-- data -->
<!-- scripts -->
</body></html>
""",
    "style.css": "main { color: black; }\n",
    "main.js": "console.log(1);\n",
    "vendor/plot.min.js": "globalThis.Plot = d3;\n",
    "vendor/plot.LICENSE": "ISC /* of Plot */\n",
    "vendor/d3.min.js": "globalThis.d3 = {};\n",
    "vendor/d3.LICENSE": "ISC of D3\n",
}


def test_modules_run_in_the_order_in_which_they_need_each_other() -> None:
    script = as_one_script(MODULES, "main.js")
    assert "later" not in script
    if not (node := shutil.which("node")):
        pytest.skip("needs node")
    done = subprocess.run([node, "-"], input=script, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "42"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a small page in place of the real one."""
    for name, text in FILES.items():
        file = tmp_path / "page" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr("trigemu_pages.explorer.page.resources.files", lambda package: tmp_path)
    return tmp_path / "page"


def made() -> str:
    return page_of(["a <b> & </title><script>alert(1)</script>\x1b"], "AAAA")


def test_the_page(folder: Path) -> None:
    text = made()
    assert made() == text
    assert text.count("<script>alert") == 0
    assert "<title>a &lt;b&gt; &amp; &lt;/title&gt;" in text
    assert "\x1b" not in text
    assert '<script type="application/octet-stream" id="data">AAAA</script>' in text
    libraries = ["ISC of D3", "globalThis.d3", "ISC /* of Plot ", "globalThis.Plot"]
    assert re.findall(r"ISC.*|globalThis\.\w+", text) == libraries
    assert "<!--" not in text


def test_the_policy_allows_what_is_in_the_page_alone(folder: Path) -> None:
    text = made()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy[1].split("; ")}
    assert rules["default-src"] == ["'none'"]
    assert "unsafe" not in policy[1]
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        contents = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        digests = [base64.b64encode(hashlib.sha256(c.encode()).digest()).decode() for c in contents]
        assert rules[rule] == [f"'sha256-{digest}'" for digest in digests]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("main.js", 'const a = "</Script>";\n', "script of the page contains"),
        ("style.css", "/* <!-- */\n", "style of the page contains"),
    ],
)
def test_what_would_break_the_page_is_refused(folder: Path, name: str, text: str, message: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        made()
