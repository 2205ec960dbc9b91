"""Find the tree with the events in a ROOT file: a TTree or an RNTuple of any name, in any folder of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

import uproot

from trigemu.samples.errors import SampleError
from trigemu.support import excerpt

#: Entries of a file that are searched for trees, and levels of folders: a damaged folder may contain itself.
MOST_KEYS, MOST_LEVELS = 1000, 10
#: Trees that a message names.
_NAMED = 20
_TREES = ("TTree", "TNtuple", "TNtupleD", "ROOT::RNTuple", "ROOT::Experimental::RNTuple")
#: Types of the fields of an RNTuple.
_NUMBERS = {
    *("bool", "char", "float", "double"),
    *(f"std::{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)),
}
_LIST = re.compile(r"(std::vector|ROOT::VecOps::RVec|ROOT::RVec)<(?P<of>.+)>")
_CARDINALITY = re.compile(r"ROOT::RNTupleCardinality<.+>")


def tree_with_events(file: Any, name: str, usual: Sequence[str], any_tree: bool) -> tuple[str, Any]:
    """Return the tree with the events of a ROOT file, and its name.

    Parameters
    ----------
    file : directory of uproot
        The file.
    name : str
        The name of the tree; empty: the first of the usual names.
    usual : sequence of str
        The names that the format gives it.
    any_tree : bool
        Whether it may also be the only tree with events and numbers.

    Raises
    ------
    SampleError
        If the file lacks the tree, or has none or several to choose from.
    """
    for candidate in (name,) if name else usual:
        if _is_tree(tree := file.get(candidate)):
            return candidate, tree
    names = tree_names(file)
    if name:
        near = sorted(names, key=lambda other: -SequenceMatcher(None, name, excerpt(other)).ratio())
        raise SampleError(f"has no tree {excerpt(name)!r}; its trees, nearest first: {_listed(near)}")
    opened = ((other, file.get(other)) for other in names if any_tree)
    usable = {n: tree for n, tree in opened if _is_tree(tree) and tree.num_entries and shapes(tree)}
    if len(usable) == 1:
        return usable.popitem()
    if not usable:
        expected = " or ".join(map(repr, usual)) + ", nor another one with events and numbers" * any_tree
        inside = sorted(set(names or file.keys(recursive=False, cycle=False)))
        raise SampleError(f"no tree {expected} (it has: {_listed(inside)})")
    described = [
        f"{n} ({tree.num_entries} events, {len(shapes(tree))} columns)" for n, tree in usable.items()
    ]
    advice = 'choose one with --tree NAME, or with tree = "NAME" in a catalogue'
    raise SampleError(f"has several trees; {advice}: {_listed(described)}")


def tree_names(file: Any) -> list[str]:
    """Return the names of all trees of a ROOT file, with the folders that they are in: `ntuple/events`."""
    return list(dict.fromkeys(name for name, kind in islice(_contents(file), MOST_KEYS) if kind in _TREES))


def shapes(tree: Any) -> dict[str, bool]:
    """Return the branches of a TTree, or fields of an RNTuple, with numbers, and whether they are lists."""
    return _in_tree(tree) if isinstance(tree, uproot.TTree) else _in_rntuple(tree)


def _is_tree(content: Any) -> bool:
    return getattr(content, "classname", None) in _TREES


def _contents(directory: Any, folder: str = "", level: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the names of all contents, and their classes."""
    for name, kind in directory.iterclassnames(recursive=False, cycle=False):
        yield folder + name, kind
        inside = directory.get(name) if kind in ("TDirectory", "TDirectoryFile") else None
        if inside is not None and level < MOST_LEVELS:
            yield from _contents(inside, f"{folder}{name}/", level + 1)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (", ".join(map(excerpt, names[:_NAMED])) or "nothing") + more


def _in_tree(tree: Any) -> dict[str, bool]:
    is_list = {}
    for name, branch in tree.items():
        interpretation = branch.interpretation
        content = interpretation.content if isinstance(interpretation, uproot.AsJagged) else interpretation
        if type(content) is uproot.AsDtype and not content.inner_shape:  # not an array or an object
            is_list[name] = content is not interpretation
    return is_list


def _in_rntuple(events: Any) -> dict[str, bool]:
    types = {field.name: str(field.typename) for field in events.fields}
    lists = {name: _LIST.fullmatch(of) for name, of in types.items()}
    is_list = {name: True for name, of in lists.items() if of and of["of"] in _NUMBERS}
    scalars = (name for name, of in types.items() if of in _NUMBERS or _CARDINALITY.fullmatch(of))
    return is_list | dict.fromkeys(scalars, False)
