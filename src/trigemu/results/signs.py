"""Signs such as ± and σ, spelled in characters that a terminal's encoding has.

Own words are spelled readably, ± as +- and cm⁻² as cm^-2. Names from menus, samples and files keep Python's
escapes, J\\u03b7 for a J and an eta: two names that differ never look alike.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable

#: Sign → how it is spelled where the encoding lacks it; powers and indices follow from the digits below.
SIGNS = {
    "±": "+-", "−": "-", "–": "-", "─": "-", "…": "...", "→": "->", "×": "x", "·": "*", "≤": "<=", "≥": ">=",
    "√": "sqrt ", "∞": "inf", "½": "1/2", "′": "'", "µ": "u", "μ": "u", "Δ": "Delta", "Σ": "Sum", "Π": "Prod",
    "α": "alpha", "γ": "gamma", "ε": "epsilon", "η": "eta", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau",
    "φ": "phi", "χ": "chi", "⟨": "<", "⟩": ">",
}  # fmt: skip
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉ₜ", "0123456789t", strict=True))
_RUNS = re.compile(f"[{''.join(_RAISED)}]+|[{''.join(_LOWERED)}]+|[{''.join(SIGNS)}]")
#: A name as messages quote it.
_QUOTED = r"(?<!\w)'[^'\n]*'(?!\w)"
#: The name by which streams know `_replaced`, as `errors`.
SPELLING = "trigemu.signs"


def escaped(text: str, encoding: str) -> str:
    """Return a name with the characters that an encoding lacks as escapes."""
    return text if _has(encoding, text) else text.encode(encoding, "backslashreplace").decode(encoding)


def spelled(text: str, encoding: str, names: Iterable[str] = ()) -> str:
    """Return a text with the signs that an encoding lacks as words; quoted parts, and these names, have
    escapes."""
    if _has(encoding, text):
        return text
    known = [re.escape(name) for name in sorted(names, key=len, reverse=True) if name]
    parts = re.split(f"({'|'.join((*known, _QUOTED))})", text)
    own = (_RUNS.sub(lambda run: _word(run[0], encoding), part) for part in parts[::2])
    parts[::2] = own
    return "".join(escaped(part, encoding) for part in parts)


def _has(encoding: str, text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _word(run: str, encoding: str) -> str:
    if _has(encoding, run):
        return run
    for digits, mark in ((_RAISED, "^"), (_LOWERED, "_")):
        if run[0] in digits:
            return mark + "".join(digits[c] for c in run)
    return SIGNS[run]


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Return what is written for characters that the encoding of a stream lacks, and where they end."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text, run = error.object, error.object[error.start : error.end]
    quoted = any(q.start() < error.start < q.end() for q in re.finditer(_QUOTED, text))
    shown = escaped(run, "ascii") if quoted else spelled(run, "ascii")
    return shown, error.end


codecs.register_error(SPELLING, _replaced)
