"""Menus of experiments: XML of the CMS Level-1 trigger and YAML of its Phase-2 upgrade. What is imported must
be a menu that can be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import l1_toys
import phase2_toys
import yaml
from hypothesis import strategies as st
from trigemu_cms import import_cms_l1, import_cms_phase2

import trigemu
from fuzzing.edits import any_digits, encoded, spoilt_words, table_edits
from fuzzing.formats.base import Files, Format

SEEDS = {
    "L1_A": "MU3[MU-QLTY_SNGL]",
    "L1_B": "comb{MU5, MU3} AND JET30[JET-ETA_CEN] AND NOT EXT_BPTX_OR",
    "L1_C": "dist{MU0[MU-CHG_NEG], MU3}[DR_MAX_0p8, CHGCOR_OS]",
    "L1_D": "mass_inv{EG10[EG-ISO_0xA], EG5}[MASS_MIN_40] OR ETM40",
}


def _xml() -> st.SearchStrategy[Files]:
    text = l1_toys.menu_xml(SEEDS)
    words = (
        *("<!DOCTYPE x [<!ENTITY a 'b'>]>", "&a;", "&#0;", "<![CDATA[", "-->", "mass_inv", "comb{"),
        *("UTF-16", "idna", "MU3"),
    )
    encodings = ("utf-8", "utf-16", "idna", "hex", "punycode", "utf-7", "cp037", "latin-1", "x", "shift_jis")
    recoded = st.sampled_from(encodings).map(lambda name: text.replace("UTF-8", name).encode())
    return st.one_of(spoilt_words(text, words, most=5), recoded).map(lambda made: {"menu.xml": made})


def _use_xml(folder: Path) -> Any:
    return _readable(folder, import_cms_l1(folder / "menu.xml").toml)


def _yaml() -> st.SearchStrategy[Files]:
    objects = {f"objects/{name}": text.encode() for name, text in phase2_toys.OBJECTS.items()}
    words = (
        *("!!python/object:os.system", "&a", "*a", "<<", "0b_", "0x", "1:2:3", "2024-99-99", "---"),
        *("leg9.pt", "leg1", "Mu:default", "? "),
    )

    def spoilt(text: str) -> st.SearchStrategy[bytes]:
        tables = table_edits(yaml.safe_load(text), words).map(_as_yaml)
        return st.one_of(tables, spoilt_words(text, words))

    plain = {"menu.yml": phase2_toys.MENU.encode(), **objects}
    return st.one_of(
        *(
            spoilt(content.decode()).map(lambda made, name=name: {**plain, name: made})
            for name, content in plain.items()
        )
    )


def _as_yaml(table: Any) -> bytes:
    with any_digits():
        made: str = yaml.safe_dump(_shown(table), allow_unicode=True)
    return encoded(made)


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shown(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shown(inner) for inner in value]
    return str(value) if type(value).__name__ == "time" else value


def _use_yaml(folder: Path) -> Any:
    return _readable(folder, import_cms_phase2(folder / "menu.yml", folder / "objects").toml)


def _readable(folder: Path, toml: str) -> Any:
    (folder / "new.toml").write_text(toml)
    try:
        return trigemu.read_menu(folder / "new.toml")
    except trigemu.TrigemuError as error:
        raise AssertionError(f"what was imported cannot be read: {error}") from error


FORMATS = (Format("XML", _xml, _use_xml), Format("YAML", _yaml, _use_yaml))
