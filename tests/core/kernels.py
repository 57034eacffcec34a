"""Calls of kernels: on copies of their arguments, with every bit of what comes out."""

import copy
import hashlib
import json
import os
from functools import cache
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import currently_in_test_context

from quietcrowd import _core

RECORD = Path(__file__).with_name("recorded_bits.json")
"""For each test, digests of what its calls were given and of what came out. To change results on
purpose, write it anew with QUIETCROWD_RECORD=1, in one process."""

COUNTERS = {}


class Result(NamedTuple):
    """What a kernel returned, and its arguments afterwards, arrays as bytes."""

    returned: object
    arguments: tuple


def run(kernel, *arguments):
    """Call a kernel on copies of its arguments."""
    copies = tuple(map(_copied, arguments))
    returned = kernel(*copies)
    return Result(_frozen(returned), tuple(map(_frozen, copies)))


def assert_recorded_bits(name, *arguments):
    """Call a kernel on every instruction set: all give the same bits, those on record.

    Examples of Hypothesis are not on record, nor are inputs that another machine rounds otherwise.
    """
    results = {}
    for instructions in _core.instruction_sets():
        _core.choose(instructions)
        try:
            results[instructions] = run(getattr(_core, name), *arguments)
        finally:
            _core.choose(_core.instruction_sets()[-1])
    first = results["baseline"]
    for instructions, result in results.items():
        assert result.returned == first.returned, instructions
        for place, (one, other) in enumerate(zip(result.arguments, first.arguments, strict=True)):
            assert one == other, f"{instructions}: argument {place}"
    if not currently_in_test_context():
        _compare([name, _digest(tuple(map(_frozen, arguments))), _digest(first)])


def outside(workers, reports=0, labels=0, worst=255):
    """Return the mark of a test of contents out of range: place in a partition, value, message.

    Without labels, values are numbers, and any will do.
    """
    broken = [
        (0, 10**6, "offsets"),
        (0, -1, "offsets"),
        (1, workers, "worker code"),
        (1, 2**32 - 1, "worker code"),
    ]
    if labels:
        broken += [(2, reports, "value"), (2, worst, "value"), (4, labels, "known truth")]
    return pytest.mark.parametrize(("place", "value", "message"), broken)


def assert_refuses_other_arrays(name, given):
    """Assert that a kernel takes no array one entry short, and none of another type."""
    kernel = getattr(_core, name)
    for place, argument in enumerate(given):
        before, after = given[:place], given[place + 1 :]
        for changed in _shortened(argument):
            with pytest.raises(ValueError, match=r"must|out of range|offsets"):
                kernel(*before, changed, *after)
        if isinstance(argument, np.ndarray):
            with pytest.raises(TypeError):
                kernel(*before, argument.astype("f4"), *after)


def _shortened(argument):
    if isinstance(argument, np.ndarray):
        yield argument[:-1].copy()
    elif isinstance(argument, tuple):
        for place, part in enumerate(argument):
            yield *argument[:place], part[:-1].copy(), *argument[place + 1 :]


def _compare(found):
    """Compare a call of this test with that on record."""
    test = os.environ["PYTEST_CURRENT_TEST"].removesuffix(" (call)").removeprefix("tests/core/")
    place = next(COUNTERS.setdefault(test, count()))
    calls = _record().setdefault(test, [])
    if os.environ.get("QUIETCROWD_RECORD"):
        calls[place:] = [found]
        lines = (f"{json.dumps(name)}: {json.dumps(_record()[name])}" for name in sorted(_record()))
        RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return
    assert place < len(calls), "not on record: run the test once with QUIETCROWD_RECORD=1"
    if found[:2] == calls[place][:2]:
        assert found[2] == calls[place][2], f"{found[0]}: other bits than those on record"


@cache
def _record():
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def _digest(frozen):
    digest = hashlib.sha256()
    _feed(digest, frozen)
    return digest.hexdigest()[:16]


def _feed(digest, part):
    """Add a part of what `_frozen` returned; lengths keep the parts apart."""
    if isinstance(part, tuple):
        digest.update(f"{len(part)} parts".encode())
        for inner in part:
            _feed(digest, inner)
    else:
        content = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(f"{len(content)} bytes".encode() + content)


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
