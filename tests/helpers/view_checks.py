"""What holds of every result that shows itself, of the core and of plugins: tests of each call it."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import hist
import jsonschema
import matplotlib.pyplot as plt
import mplhep
import numpy as np
import pytest
import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from uhi.typing.plottable import PlottableHistogram

#: The only elements, and what they may say of themselves.
ELEMENTS = {"div", "style", "table", "thead", "tbody", "tr", "th", "td", "p"}
ATTRIBUTES = {"aria-label", "class", "data-label", "role", "scope", "tabindex"}


class Checked(HTMLParser):
    """Every element is known and is closed in its turn. rows: cells of each table row; texts: paragraphs."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS
        assert {key for key, _ in attrs} <= ATTRIBUTES
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")
        elif tag == "p":
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("th", "td"):
            self.rows[-1][-1] += data
        elif self.open[-1] == "p":
            self.texts[-1] += data


def check_texts(result: Any) -> None:
    """Its line is one line; its text fits, and acts on no terminal; its document is JSON."""
    shown = repr(result)
    assert shown.startswith(f"<{type(result).__name__} ")
    assert shown.isprintable()
    assert len(shown) < 200
    assert not str(result).endswith("\n\n")
    for line in str(result).splitlines():
        assert line.isprintable()
        assert len(line) <= 100
    document = result.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def check_html(result: Any) -> None:
    """Its HTML is well formed, and escaped."""
    page = result._repr_html_()
    assert type(page) is str
    assert page.replace("\n", "").replace("\u2002", "").isprintable()
    found = Checked(page)
    assert len({len(row) for row in found.rows}) <= 2 * page.count("<table>")
    assert found.rows


def check_plot(result: Any, label: str) -> None:
    """Its figure belongs to pyplot, and an axis has a label that matches."""
    axes = result.plot()
    assert isinstance(axes, Axes)
    assert axes.figure.number in plt.get_fignums()  # type: ignore[union-attr]
    figure = axes.figure
    labels = [text for part in figure.axes for text in (part.get_xlabel(), part.get_ylabel())]
    assert any(re.search(label, text) for text in labels), labels
    figure.savefig(io.BytesIO())
    plt.close("all")


def equal(found: Any, expected: Any) -> bool:
    """To the last bit; absent numbers are NaN, lists are joined."""
    if expected is None:
        return found is None or math.isnan(found)
    if isinstance(expected, list):
        return bool(found == ";".join(expected))
    return bool(found == expected)


def check_frame(result: Any, expected: Sequence[dict[str, Any]]) -> None:
    """The numbers of its data frame are those of rows."""
    frame = result.to_pandas()
    found = (frame.reset_index() if frame.index.names[0] else frame).to_dict("records")
    assert len(found) == len(expected) > 0
    for row, numbers in zip(found, expected, strict=True):
        for key, value in numbers.items():
            assert equal(row[key], value), (key, row[key], value)


def conforms(made: Any) -> None:
    """To the protocol of plots, and to what mplhep draws."""
    assert isinstance(made, PlottableHistogram)
    if len(made.axes) == 1:
        axes = Figure().add_subplot()
        mplhep.histplot(made, ax=axes)
        assert made.axes[0].label


def same(made: Any, edges: Any, values: Any, variances: Any) -> None:
    """To the last bit; None is NaN."""
    conforms(made)
    assert made.axes[-1].edges.tolist() == list(edges)
    for found, expected in ((made.values(), values), (made.variances(), variances)):
        np.testing.assert_array_equal(found, np.array(expected, np.float64))


def check_histogram_file(made: Any) -> None:
    """What is written of a histogram follows the schema, and is read back."""
    files = pytest.importorskip("uhi.io.json")
    if not hasattr(made, "_to_uhi_"):
        pytest.skip("this version of boost-histogram writes no files")
    text = json.dumps(made, default=files.default)
    schema = resources.files("uhi").joinpath("resources/histogram.schema.json").read_text()
    jsonschema.validate(json.loads(text), json.loads(schema))
    back = hist.Hist(json.loads(text, object_hook=files.object_hook))
    assert back.axes == made.axes
    np.testing.assert_array_equal(back.values(), made.values())
    np.testing.assert_array_equal(back.variances(), made.variances())


def submitted(tables: Sequence[Any], folder: Path) -> dict[str, Any]:
    """The tables of a valid submission to HEPData that is read back, by name."""
    submission = pytest.importorskip("hepdata_lib").Submission()
    for table in tables:
        submission.add_table(table)
    folder.mkdir(exist_ok=True)
    with contextlib.chdir(folder):  # its archive is written into the working directory
        submission.create_files(str(folder), validate=True)
    parts = yaml.safe_load_all((folder / "submission.yaml").read_text("utf-8"))
    return {
        part["name"]: yaml.safe_load((folder / part["data_file"]).read_text("utf-8"))
        for part in parts
        if "data_file" in part
    }


def check_hepdata(result: Any, folder: Path) -> None:
    """Its tables for HEPData are valid, and have a value for each row."""
    for table in submitted(result.to_hepdata(), folder / "record").values():
        columns = table["independent_variables"] + table["dependent_variables"]
        assert table["dependent_variables"]
        assert len({len(column["values"]) for column in columns}) == 1
