"""Dense layers by distributed arithmetic: sums of shifted inputs, which hls4ml writes in nnet_code_gen.h.

    void dense_da_3(inp_t inp[57], out_t out[29]) {
        ap_fixed<15, 4> v81 = bit_shift<-3>(inp[20]) + bit_shift<-3>(inp[31]);
        …
        out[0] = v182;
    }

No sum loses a bit, which is checked here: the weights and biases that they amount to give the same words.
"""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

from trigemu.base.errors import TrigemuError, excerpt

from ..fixed_point import MAX_WORD, ApFixed
from ..integer_file import Dense, Numbers
from ..steps import Array

_ANY_TYPE = r"ap_u?fixed ?<[^<>]*>"
_FUNCTION = r"void {}\(\w+ inp\[(\d+)\], \w+ out\[(\d+)\]\) {{\n(.*?)^}}"
_SUM = re.compile(rf"(?:({_ANY_TYPE}) (\w+)|out\[(\d+)\]) = (.+);")
_TERM = re.compile(
    rf" ?([+-]?) ?(?:bit_shift<(-?\d{{1,2}})>\((inp\[\d+\]|\w+)\)|(inp\[\d+\]|[A-Za-z_]\w*(?![\w<]))|"
    rf"(?:{_ANY_TYPE})?\(?(-?\d{{1,30}}(?:\.\d{{0,60}})?(?:[eE][+-]?\d{{1,2}})?)\)?)"
)


def dense_layer(name: str, kind: str, source: str, given: ApFixed, text: str, function: str) -> Dense:
    """Return the dense layer of a function in a text, or TrigemuError; given: the type of its inputs."""
    match = re.search(_FUNCTION.format(function), text, re.DOTALL | re.MULTILINE)
    if not match:
        raise TrigemuError(f"there is no {function} in nnet_code_gen.h beside the network")
    n_in, n_out = int(match[1]), int(match[2])
    if not 0 < n_in * n_out < 2**20:
        raise TrigemuError(f"{function} has {n_in} inputs and {n_out} outputs")
    #: What each number is: a coefficient for every input, and a constant.
    values: dict[str, Array] = {f"inp[{i}]": _unit(i, n_in) for i in range(n_in)}
    outputs: dict[int, Array] = {}
    for line in match[3].splitlines():
        statement = line.strip()
        if not statement or statement.startswith(("//", "#pragma HLS")):
            continue
        match = _SUM.fullmatch(statement)
        total = _total(match[4], values, n_in) if match else None
        if match is None or total is None:
            raise TrigemuError(f"{function}: {excerpt(statement)!r} is no sum of shifted numbers")
        if match[3]:
            outputs[int(match[3])] = total
            continue
        if not _holds(ApFixed.parse(match[1], MAX_WORD), total, given):
            raise TrigemuError(f"{function}: {excerpt(statement)!r} loses bits: it is no dense layer")
        values[match[2]] = total
    if sorted(outputs) != list(range(n_out)):
        raise TrigemuError(f"{function} does not compute each of its {n_out} outputs")
    table = np.array([outputs[i] for i in range(n_out)]).T
    weight, bias = _numbers(table[:-1]), _numbers(table[-1:])
    fraction = max(given.fraction + ApFixed.parse(weight.type, MAX_WORD).fraction, _fraction(table[-1:]))
    most = max(map(abs, given.words)) * Fraction(2) ** -given.fraction
    largest = max(sum(abs(total[:-1])) * most + abs(total[-1]) for total in outputs.values())
    bits = int(largest * 2**fraction).bit_length() + 1
    return Dense(name, kind, source, str(ApFixed(bits, bits - fraction)), weight, bias)


def _unit(place: int, n_in: int) -> Array:
    """Return the coefficients of an input, or of a constant 1."""
    result = np.full(n_in + 1, Fraction(0))
    result[place] = Fraction(1)
    return result


def _total(text: str, values: dict[str, Array], n_in: int) -> Array | None:
    """Return the coefficients of a sum, or None for another expression."""
    total, end = _unit(0, n_in) * 0, 0
    while end < len(text):
        match = _TERM.match(text, end)
        if not match:
            return None
        sign, shift, shifted, plain, number = match.groups()
        term = _unit(n_in, n_in) * Fraction(number) if number else values.get(shifted or plain)
        if term is None or (end and not sign):
            return None
        total = total + term * Fraction(2) ** int(shift or 0) * (-1 if sign == "-" else 1)
        end = match.end()
    return total


def _holds(kind: ApFixed, total: Array, given: ApFixed) -> bool:
    """Return whether a type has all values of a sum of inputs of another type."""
    step, (low, high) = Fraction(2) ** -given.fraction, given.words
    steps = np.append(total[:-1] * step, total[-1]) * Fraction(2) ** kind.fraction
    if any(number.denominator != 1 for number in steps):
        return False
    least = sum(min(number * low, number * high) for number in steps[:-1]) + steps[-1]
    most = sum(max(number * low, number * high) for number in steps[:-1]) + steps[-1]
    return bool(kind.words[0] <= least and most <= kind.words[1])


def _fraction(numbers: Array) -> int:
    """Return the bits after the point that numbers need."""
    return int(max(number.denominator for number in numbers.ravel())).bit_length() - 1


def _numbers(numbers: Array) -> Numbers:
    """Return numbers in the smallest type that has them."""
    fraction = _fraction(numbers)
    words = [int(number * 2**fraction) for number in numbers.ravel()]
    bits = max(abs(word) for word in words).bit_length() + 1
    return Numbers(str(ApFixed(bits, bits - fraction)), words)
