"""Integer networks, and the C++ projects that they are read from; the twin computes in exact fractions."""

from __future__ import annotations

import json
import re
import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzzing.edits import as_json, byte_edits, table_edits, word_edits
from fuzzing.formats.base import Files, Format

INPUTS = np.random.default_rng(8).normal(0, 5, (12, 3)).astype(np.float32)


@cache
def network() -> dict[str, Any]:
    """Return the toy project as an integer network."""
    from hls4ml_toys import write_project
    from trigemu_anomaly import integer_file
    from trigemu_anomaly.hls4ml.project import read_project

    with tempfile.TemporaryDirectory() as folder:
        read = read_project(write_project(Path(folder)))
    table: dict[str, Any] = json.loads(integer_file.written(read))
    return table


def _sizes() -> st.SearchStrategy[bytes]:
    """Draw networks whose layers make many numbers, or none."""
    kind = "ap_fixed<12,6>"
    one, size = {"type": kind, "words": [1]}, st.sampled_from((0, 1, 2, 3, 4096, 2**31, -1))

    def of(name: str, what: str, **keys: Any) -> dict[str, Any]:
        return {"kind": what, "name": name, "type": kind, **keys}

    def made(times: int, sizes: list[int], words: int, last: str) -> bytes:
        joined = [of(f"x{n + 1}", "concatenate", of=[f"x{n}", f"x{n}"]) for n in range(times)]
        layers = [of("x0", "input", size=3), *joined, of("c", "constant", words=[1] * words)]
        top = f"x{times}"
        image = {"shape": sizes[:3], "window": sizes[3:5], "stride": sizes[5:7], "padding": sizes[7:]}
        layers.append(
            {
                "dot": of("y", "dot", of=[top, top], accumulator=kind),
                "constants": of("y", "dot", of=["c", "c"], accumulator=kind),
                "shift": of("y", "shift", of="c", by=[0] * words),
                "image": of("y", "convolution", of=top, accumulator=kind, weight=one, bias=one, **image),
            }[last]
        )
        return as_json({"format": "trigemu-integer-network/1", "name": "sizes", "layers": layers})

    lasts = st.sampled_from(("dot", "constants", "shift", "image"))
    sizes = st.lists(size, min_size=11, max_size=11)
    return st.builds(made, st.integers(0, 40), sizes, st.integers(0, 3), lasts)


def _networks() -> st.SearchStrategy[Files]:
    numbers = ("ap_fixed<64,2>", "ap_ufixed<3,9,AP_RND>", "input_1", "", 2**63, -1, 7, 0, 1e300)
    few, many = (table_edits(network(), numbers, most=most).map(as_json) for most in (1, 3))
    plain = as_json(network())
    ways = st.one_of(few, few, many, byte_edits(plain, most=1), _sizes())
    return ways.map(lambda content: {"network.json": content})


def _projects() -> st.SearchStrategy[Files]:
    from hls4ml_toys import FILES

    words = (
        "ap_fixed<40,3>",
        "ap_uint<2>",
        "N_LAYER_2",
        "nnet::relu",
        "layer5_out",
        "static",
        "{",
        "};",
        "/*",
    )

    def spoilt(name: str) -> st.SearchStrategy[Files]:
        text = FILES[name]
        spelt = word_edits(text, words).map(lambda of: of.encode("utf-8", "replace"))
        edited = st.one_of(byte_edits(text.encode(), most=2), spelt)
        plain = {other: of.encode() for other, of in FILES.items()}
        return edited.map(lambda content: {**plain, name: content})

    return st.sampled_from([*FILES]).flatmap(spoilt)


#: Another definition or call, where a compiler passes over it, or where it is a mistake.
_AROUND = (
    *("#if 0\n{0}\n#endif", "#ifdef OLD\n{0}\n#endif", "#ifndef __SYNTHESIS__\n{0}\n#endif", "/*\n{0}\n*/"),
    *("#if defined(OLD)\n{0}\n#endif", "// old \\\n{0}", "#define OLD {0}", "#pragma HLS /*\n*/ {0}", "{0}"),
    *("if (false) {{ {0} }}", "{{ {0} }}", "while (0) {{ {0} }}", "namespace old {{ {0} }}"),
)
#: Statements that change the network; none of them may be passed over.
_CHANGES = ("layer2_out[0] = 1;", "w2[0] = 9;", "return;", "layer3_out[1] = layer2_out[0];", "b4[0]++;")
_REFUSED = "refused"


def _attacks() -> st.SearchStrategy[Files]:
    """Draw projects with something beside the network, which is refused, or does not change it."""
    from hls4ml_toys import FILES

    plain = {name: text.encode() for name, text in FILES.items()}
    lines = [
        (name, number, line)
        for name, text in FILES.items()
        for number, line in enumerate(text.split("\n"))
        if line.strip() and not line.strip().startswith("//")
    ]

    def with_line(name: str, number: int, line: str) -> Files:
        text = FILES[name].split("\n")
        return {**plain, name: "\n".join([*text[:number], line, *text[number:]]).encode()}

    def beside(line: tuple[str, int, str], digit: str, around: str, times: int) -> Files:
        name, number, text = line
        other = re.sub(r"[1-9]", digit, text)
        return with_line(name, number, "\n".join([around.format(other)] * times))

    def elsewhere(name: str, digit: str, path: str) -> Files:
        return {**plain, path: re.sub(r"[1-9]", digit, FILES[name]).encode()}

    calls = [number for name, number, line in lines if name == "toy.cpp" and "nnet::dense<" in line]
    digits, around = st.sampled_from("1257"), st.sampled_from(_AROUND)
    paths = ("old.h", "weights/w3.h", "backup/w2.h", "backup/toy.cpp", "weights/toy.cpp", "old/firmware/w2.h")
    changes = st.builds(
        lambda number, line: {**with_line("toy.cpp", number + 1, line), _REFUSED: b""},
        st.sampled_from(calls),
        st.sampled_from(_CHANGES),
    )
    return st.one_of(
        st.builds(beside, st.sampled_from(lines), digits, around, st.sampled_from((1, 1, 1, 2, 3000))),
        st.builds(elsewhere, st.sampled_from([*FILES]), digits, st.sampled_from(paths)),
        changes,
    )


@cache
def _plain_scores() -> list[float]:
    from trigemu_anomaly.models import open_model

    scores: list[float] = open_model(as_json(network()), 3).score(INPUTS).tolist()
    return scores


def _attacked(folder: Path, made: list[float]) -> str | None:
    if (folder / _REFUSED).exists():
        return "a statement between layers was passed over"
    return "" if made == _plain_scores() else f"{made}, expected {_plain_scores()}"


def _use_network(folder: Path) -> list[float]:
    from trigemu_anomaly.models import open_model

    scores: list[float] = open_model((folder / "network.json").read_bytes(), 3).score(INPUTS).tolist()
    return scores


def _use_project(folder: Path) -> list[float]:
    from trigemu_anomaly import integer_file
    from trigemu_anomaly.hls4ml.project import read_project

    (folder / "network.json").write_bytes(integer_file.written(read_project(folder)))
    return _use_network(folder)


def _twin(folder: Path, made: list[float]) -> str | None:
    from ap_fixed import score_of
    from trigemu_anomaly.integer_file import read_integer_file

    read = read_integer_file((folder / "network.json").read_bytes())
    if sum(layer.name.startswith("x") for layer in read.layers) > 8:
        return None  # fractions of so many numbers take long
    for event, found in zip(INPUTS.tolist(), made, strict=True):
        expected = float(score_of(read, [Fraction(x) for x in event]))
        if found != expected:
            return f"{event}: {found!r}, expected {expected!r}"
    return ""


FORMATS = (
    Format("integer networks", _networks, _use_network, _twin),
    Format("hls4ml projects", _projects, _use_project, _twin),
    Format("hls4ml attacks", _attacks, _use_project, _attacked),
)
