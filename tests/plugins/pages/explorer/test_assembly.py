"""The page as one file: modules as one script, the content security policy, and what is in plain text."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from project import ROOT
from trigemu_pages.explorer.fit import PageData
from trigemu_pages.explorer.page import as_one_script, page_of

from trigemu import read_menu

MODULES = {
    "main.js": """// Runs all.
import { sum as add, Counter } from "./engine/index.js";
import {
  LIMIT,
  twice,
} from "./tools.js";

const counter = new Counter();
counter.count();
console.log(add(LIMIT, twice(counter.value)), `
import { nothing } from "./nowhere.js";`.length > 0);
""",
    "tools.js": """export const LIMIT = 40;
const hidden = 2;

export function twice(x) {
  return hidden * x;
}
""",
    "engine/index.js": """export { sum } from "./sums.js";
import { LIMIT } from "../tools.js";

class Own {
  value = LIMIT - 39;
  count() {}
}
export { Own as Counter };
""",
    "engine/sums.js": """export async function later() {}
export class Unused {}
export function sum(a, b) {
  return a + b;
}
""",
}


def run(script: str) -> str:
    node = shutil.which("node")
    if not node:
        pytest.skip("needs node")
    done = subprocess.run([node, "-"], input=script, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_modules_run_in_the_order_in_which_they_need_each_other() -> None:
    without_text = MODULES | {
        "main.js": re.sub(r"`\nimport.*?`\.length > 0", "true", MODULES["main.js"], flags=re.S)
    }
    assert run(as_one_script(without_text, "main.js")) == "42 true"


def test_what_is_not_needed_is_left_out() -> None:
    assert "twice" not in as_one_script({**MODULES, "main.js": "const a = 1;\n"}, "main.js")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('import { a } from "./none.js";\n', r"main\.js: there is no none\.js"),
        ('import { a } from "./main.js";\n', r"main\.js → main\.js: these modules import each other"),
        ('import all from "./tools.js";\n', "main.js: 'import all .*' is not supported"),
        ('import * as all from "./tools.js";\n', "is not supported"),
        ('import "./tools.js";\n', "is not supported"),
        ("export default 3;\n", "is not supported"),
        ("export let a = 3;\n", "is not supported"),
        ('const a = import("./tools.js");\nexport * from "./tools.js";\n', "is not supported"),
    ],
)
def test_other_statements_are_refused(source: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_one_script(MODULES | {"main.js": source}, "main.js")


INDEX = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<!-- policy -->
<!-- title -->
<!-- style -->
</head><body><main id="page"></main>
<!-- data -->
<!-- scripts -->
</body></html>
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a small page in place of the real one."""
    files = {
        "index.html": INDEX,
        "style.css": "main { color: black; }\n",
        "main.js": "console.log(1);\n",
        "vendor/plot.min.js": "globalThis.Plot = d3;\n",
        "vendor/plot.LICENSE": "ISC /* of Plot */\n",
        "vendor/d3.min.js": "globalThis.d3 = {};\n",
        "vendor/d3.LICENSE": "ISC of D3\n",
    }
    for name, text in files.items():
        file = tmp_path / "page" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr("trigemu_pages.explorer.page.resources.files", lambda package: tmp_path)
    return tmp_path / "page"


def data(name: str = "a <b> & </title><script>alert(1)</script>\x1b") -> PageData:
    menu = replace(read_menu(ROOT / "menus" / "primary.toml"), name=name)
    block = b"\x00\x01 block"
    return PageData((menu,), block, base64.b64encode(gzip.compress(block, mtime=0)).decode(), ())


def test_the_page(folder: Path) -> None:
    text = page_of(data())
    assert page_of(data()) == text
    assert text.count("<script>alert") == 0
    assert "<title>a &lt;b&gt; &amp; &lt;/title&gt;" in text
    assert "\x1b" not in text
    packed = re.search(r'<script type="application/octet-stream" id="data">([^<]*)</script>', text)
    assert packed
    assert gzip.decompress(base64.b64decode(packed[1])) == data().block
    assert re.findall(r"ISC.*|globalThis\.\w+", text) == [
        "ISC of D3",
        "globalThis.d3",
        "ISC /* of Plot ",
        "globalThis.Plot",
    ]
    assert not re.search(r"<!-- (policy|title|style|data|scripts) -->", text)


def test_the_policy_allows_what_is_in_the_page_alone(folder: Path) -> None:
    text = page_of(data())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy[1].split("; ")}
    assert rules["default-src"] == ["'none'"]
    assert "unsafe" not in policy[1]
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        contents = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        digests = [
            base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() for content in contents
        ]
        assert rules[rule] == [f"'sha256-{digest}'" for digest in digests]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("main.js", 'const a = "</Script>";\n', "script of the page contains"),
        ("style.css", "/* <!-- */\n", "style of the page contains"),
        ("index.html", INDEX.replace("<!-- data -->", ""), "index.html has no <!-- data -->"),
    ],
)
def test_what_would_break_the_page_is_refused(folder: Path, name: str, text: str, message: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        page_of(data())
