"""Run the code blocks of the pages, of README.md and of those of plugins, as a plugin of pytest:

    python -m pytest -p docs.blocks docs README.md plugins

Each page has a folder of its own, with `menus` and `plugins` of the repository. In its order are run:
`console` blocks, `python` blocks (as doctests where they begin with a prompt), and blocks with a caption,
which are files. The lines after a command, or a `text` block after its block, are its output, in which a line
`…` stands for any lines; `DOCS_UPDATE=1` writes them anew. A comment `<!-- not run: WHY -->` before a block
only has it parsed; `<!-- continues PAGE -->` below the title of a page brings the files of another one.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import SkipTest

import click
from sybil import Document, Example, Region, Sybil
from sybil.evaluators.doctest import DocTestEvaluator
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.abstract.doctest import DocTestStringParser
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

ROOT = Path(__file__).parents[1]
#: The width of tables, in characters; pages are wide enough for it.
WIDTH = 80
#: What pages show as the folder.
READERS = "/home/me/trigemu"
#: Longest time of a block, in seconds.
LIMIT = 240
_FENCES = RawFencedCodeBlockLexer(re.compile(r"(?P<info>[^\n]*)\n"))
_CAPTION = re.compile(r"((?::[\w-]+:.*\n)*?):caption: *(?P<name>\S+)\n(?::[\w-]+:.*\n)*\n?")
_NOT_RUN = re.compile(r"<!-- not run: ([^\n]*) -->\s*\Z")
_CONTINUES = re.compile(r"<!-- continues (\S+) -->")
_INSTALLATION = re.compile(r'(python -m )?pip install (-e )?("[^"]+"|\S+)( && )?')
_OUTPUT = "_output"
_run_python = PythonEvaluator()
_doctests = DocTestStringParser(DocTestEvaluator(doctest.ELLIPSIS))


def parse(document: Document) -> Iterator[Region]:
    """Find the blocks that are run, or are files or output."""
    text, end_of_console = document.text, len(document.text)
    for found in _CONTINUES.finditer(text):
        yield Region(found.start(), found.end(), Path(document.path).with_name(found[1]), bring_files)
    for found in sorted(_FENCES(document), key=lambda region: region.start):
        language = found.lexemes["info"].strip()
        source = found.lexemes["source"]
        found.parsed = source
        reason = _NOT_RUN.search(text[: found.start])
        caption = _CAPTION.match(source) if language.startswith("{code-block}") else None
        if caption:
            found.parsed = caption["name"], source[caption.end() :]
            found.evaluator = write_file
        elif language == "console":
            found.evaluator = parsed_only(reason[1]) if reason else run_console
            end_of_console = found.end
        elif language == "python" and reason:
            found.evaluator = parsed_only(reason[1])
        elif language == "python" and source.startswith(">>>"):
            for region in _doctests(source, document.path):
                region.adjust(found, source)
                yield region
            continue
        elif language == "python":
            found.evaluator = run_python
        elif (
            language == "text"
            and found.start >= end_of_console
            and not text[end_of_console : found.start].strip()
        ):
            found.evaluator = compare_text
        else:
            continue
        yield found


def bring_files(example: Example) -> None:
    """Write the files of another page, and those that its Python scripts make."""
    document = Document.parse(str(example.parsed), parse)
    document.namespace = example.namespace
    for other in document:
        evaluator = other.region.evaluator
        if evaluator in (write_file, bring_files):
            other.evaluate()
        elif evaluator is run_console:
            for command, _ in commands(str(other.parsed)):
                if command.startswith("python "):
                    run(command, example.namespace["_folder"])


def write_file(example: Example) -> None:
    """Write a block with a caption to the file of this name."""
    name, content = example.parsed
    file = example.namespace["_folder"] / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)


def run_python(example: Example) -> None:
    """Run a block in the folder and namespace of its page."""
    before = Path.cwd()
    os.chdir(example.namespace["_folder"])
    try:
        _run_python(example)
    finally:
        os.chdir(before)


def parsed_only(reason: str) -> Any:
    """Return an evaluator that parses a block, and says why it is not run."""

    def evaluate(example: Example) -> None:
        if example.region.lexemes["info"].strip() == "python":
            compile(example.parsed, example.path, "exec")
        else:
            for command, _ in commands(example.parsed):
                parse_command(command)
        raise SkipTest(reason)

    return evaluate


def parse_command(text: str) -> None:
    """Raise an error of click if a command, of trigemu, has unknown names or options."""
    from trigemu.cli.commands import cli

    words = shlex.split(text, comments=True)
    if words[:1] != ["trigemu"]:
        return
    command: Any = cli
    words = words[1:]
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        assert found, f"{text}: no command {words[0]!r}"
        command, words = found, words[1:]
    command.make_context("trigemu", words)


def commands(block: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the commands of a block, each with the lines that follow it."""
    command, output = "", []
    for line in block.splitlines():
        if command.endswith("\\"):
            command = f"{command}\n{line.removeprefix('> ')}"
        elif line.startswith("$ "):
            if command:
                yield command, output
            command, output = line[2:], []
        else:
            output.append(line.rstrip())
    yield command, output


def run_console(example: Example) -> None:
    """Run the commands of a block; each must end with status 0, and print what follows it."""
    block, example.namespace[_OUTPUT] = str(example.parsed), ""
    for command, expected in commands(block):
        printed = example.namespace[_OUTPUT] = run(command, example.namespace["_folder"])
        while expected and not expected[-1]:
            expected.pop()
        as_shown = not expected or same(expected, printed.splitlines())
        if not as_shown and not updated(example, "\n".join(expected), printed):
            raise AssertionError(f"$ {command}\nprints:\n{printed}")


def compare_text(example: Example) -> None:
    """Compare a block with the output of the console block before it."""
    printed = example.namespace[_OUTPUT]
    expected = str(example.parsed).rstrip()
    if not same(expected.splitlines(), printed.splitlines()) and not updated(example, expected, printed):
        raise AssertionError(f"prints:\n{printed}")


def run(command: str, folder: Path) -> str:
    """Return what a command prints, in a shell."""
    command = _INSTALLATION.sub("", command)
    environment = os.environ | {
        "PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        "PYTHONUTF8": "1",
        "COLUMNS": str(WIDTH),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, f"$ {command}\nstatus {done.returncode}\n{done.stdout}{done.stderr}"
    printed = done.stdout.replace(str(folder.resolve()), READERS)
    return "\n".join(line.rstrip() for line in printed.splitlines())


def same(expected: list[str], printed: list[str]) -> bool:
    """Whether lines are equal, where a line `…` stands for any lines."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "…" else re.escape(line.rstrip()) + r"\n" for line in expected
    )
    return (
        re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in printed).strip("\n") + "\n")
        is not None
    )


def updated(example: Example, expected: str, printed: str) -> bool:
    """Write output anew where this is asked for, and nothing in it is left out."""
    if not os.environ.get("DOCS_UPDATE") or "\n…" in f"\n{expected}":
        return False
    page = Path(example.path)
    text, block = page.read_text(), str(example.region.lexemes["source"])
    assert block in text
    made = block.replace(expected, printed.strip("\n"), 1)
    page.write_text(text.replace(block, made, 1))
    example.region.lexemes["source"] = made
    return True


def setup(namespace: dict[str, Any]) -> None:
    """Make the folder of a page, and the program `trigemu` of this Python."""
    place = Path(tempfile.mkdtemp(prefix="trigemu-docs-"))
    folder, programs = place / "clone", place / "bin"
    folder.mkdir()
    programs.mkdir()
    for name in ("menus", "plugins"):
        (folder / name).symlink_to(ROOT / name)
    for name, start in (("trigemu", " -m trigemu"), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{start} "$@"\n')
        (programs / name).chmod(0o755)
    namespace["_folder"] = folder


def teardown(namespace: dict[str, Any]) -> None:
    shutil.rmtree(namespace["_folder"].parent)


#: Notebooks are run by the build of the site.
pytest_collect_file = Sybil(
    parsers=[parse],
    patterns=["docs/*.md", "docs/*/*.md", "README.md", "plugins/*/README.md"],
    excludes=["docs/notebooks/*", "plugins/*/templates/*"],
    path=str(ROOT),
    setup=setup,
    teardown=teardown,
).pytest()
