"""What has to be the same in several files of a release."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise

import yaml
from packaging.requirements import Requirement
from packaging.version import Version
from project import ROOT

import trigemu

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
#: Requirements that have another name in conda-forge, or are several packages.
IN_CONDA = {"fsspec": ("fsspec", "aiohttp"), "matplotlib": ("matplotlib-base",)}


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["version"] == trigemu.__version__
    assert citation["license"] == project["license"]
    assert [author["name"] for author in citation["authors"]] == [a["name"] for a in project["authors"]]


def test_the_changelog_begins_with_this_version() -> None:
    first, *released = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
    version = Version(trigemu.__version__)
    if version.is_devrelease:
        assert first == "Unreleased"
        assert f"To become {version.base_version}." in CHANGELOG
    else:
        released.insert(0, first)
        assert first.split()[0] == trigemu.__version__
    numbers = [Version(text.split(" - ")[0]) for text in released]
    assert all(newer > older for newer, older in pairwise([version, *numbers][not version.is_devrelease :]))


def test_the_pythons_that_are_tested_are_those_of_the_classifiers() -> None:
    classifiers = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    tested = re.search(r"^for version in (.*); do$", (ROOT / ".ci" / "release").read_text(), re.MULTILINE)
    assert tested
    assert tested[1].split() == re.findall(r"Programming Language :: Python :: (3\.\d+)", classifiers)


def test_the_recipe_is_that_of_the_project() -> None:
    """Its version, entry point and dependencies, with their bounds."""
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert recipe["context"]["version"] == trigemu.__version__
    assert f">={recipe['context']['python_min']}" == project["requires-python"]
    scripts = [f"{name} = {target}" for name, target in project["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
    assert recipe["about"]["license"] == project["license"]
    assert recipe["about"]["summary"] == project["description"]
    python, *packages = map(Requirement, map(_filled, recipe["requirements"]["run"]))
    assert python.name == "python"
    found = {package.name: package.specifier for package in packages}
    expected = {}
    for requirement in map(Requirement, project["dependencies"]):
        name, *others = IN_CONDA.get(requirement.name, (requirement.name,))
        expected |= {name: requirement.specifier} | dict.fromkeys(others, Requirement("any").specifier)
    assert found == expected


def _filled(line: str) -> str:
    return line.replace("${{ python_min }}", "3.11")
