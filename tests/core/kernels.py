"""Calls of kernels: on copies of their arguments, with every bit of what comes out."""

import copy
from typing import NamedTuple

import numpy as np

from quietcrowd import _core


class Result(NamedTuple):
    """What a kernel returned, and its arguments afterwards, arrays as bytes."""

    returned: object
    arguments: tuple


def run(kernel, *arguments):
    """Call a kernel on copies of its arguments."""
    copies = tuple(map(_copied, arguments))
    returned = kernel(*copies)
    return Result(_frozen(returned), tuple(map(_frozen, copies)))


def assert_same_bits(name, reference, *arguments):
    """Call a kernel on every instruction set, and compare it with a function that fills alike."""
    expected = run(reference, *arguments)
    for instructions in _core.instruction_sets():
        _core.choose(instructions)
        try:
            found = run(getattr(_core, name), *arguments)
        finally:
            _core.choose(_core.instruction_sets()[-1])
        assert found.returned == expected.returned, instructions
        for place, (one, other) in enumerate(zip(found.arguments, expected.arguments, strict=True)):
            assert one == other, f"{instructions}: argument {place}"


def _copied(argument):
    if isinstance(argument, np.ndarray):
        return argument.copy()
    if isinstance(argument, tuple):
        parts = map(_copied, argument)
        return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
    return copy.copy(argument)


def _frozen(argument):
    if isinstance(argument, np.ndarray):
        return argument.dtype.str, argument.shape, argument.tobytes()
    if isinstance(argument, tuple):
        return tuple(map(_frozen, argument))
    if isinstance(argument, float | np.floating):
        return np.float64(argument).tobytes()
    return int(argument) if isinstance(argument, bool | int | np.integer) else argument
