"""Names that a figure must draw as they are."""

from __future__ import annotations

import io
from collections.abc import Callable

from matplotlib.figure import Figure
from matplotlib.text import Text

from trigemu.results.figures.style import literal

NAMES = [r"$\frac{$", "$a^b^c$", "$$", "_x", r"a\$b$", "100 % {x} & <script>", "a\x1bb\n", r"\alpha$x$"]


def check_names_are_no_formulas(draw: Callable[[str], Figure]) -> None:
    for name in (NAMES[0], "_x"):  # one that cannot be drawn as a formula, one that legends leave out
        made = draw(name)
        if name == NAMES[0]:
            made.savefig(io.BytesIO(), format="png", dpi=10)
        drawn = [text.get_text() for text in made.findobj(Text)]
        assert any(literal(name) in text or literal(f"{name} rate") == text for text in drawn), name
