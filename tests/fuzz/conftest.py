from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", type=int, default=300, help="How many cases to fuzz, all formats together.")
    parser.addoption("--fuzz-seed", type=int, default=1, help="Another seed draws other cases.")
    parser.addoption("--formats", default="", help="Only these formats, separated by ;.")
    parser.addoption(
        "--outcomes", default="", help="Write every outcome to this file, one line of JSON each."
    )
