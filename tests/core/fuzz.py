"""Call every kernel with broken arguments: each call returns, or raises ValueError or TypeError.

``python -m tests.core.fuzz`` takes the module in build/sanitize where `--sanitized` is given, so
that any access outside of an array ends the process with a report. The file build/fuzz.txt then
says which call it was; `--kernel` and `--round` repeat it.
"""

import argparse
import faulthandler
import os
import sys
import warnings
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

INTEGERS = [*(0, -1, 1, 2, 3, 7, 8, 63, 64, 255, 256, 2**31 - 1, 2**31, 2**32 - 1, 2**32)]
INTEGERS += [2**53, 2**62, 2**63 - 1, -(2**31), -(2**63), 2**64 - 1]
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 2.0**-60, 2.0**31, 2.0**53, 2.0**63, 1e300, -1e300]
NUMBERS += [np.inf, -np.inf, np.nan]
LONGEST_CALL = 120
"""Seconds until a call counts as one that does not end."""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=400, help="of each kernel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernel", help="no other one")
    parser.add_argument("--round", type=int, help="no other one")
    parser.add_argument("--sanitized", action="store_true")
    options = parser.parse_args()
    if options.sanitized:
        from tests.core.sanitized import pytest_configure

        pytest_configure()
    from tests.core.recipes import LENGTHS, RECIPES, kernels_of

    from quietcrowd import _core

    kernels = kernels_of(_core)
    without = sorted(kernels.keys() - RECIPES.keys())
    assert not without, f"tests/core/recipes.py has no recipe of {', '.join(without)}"
    log = Path("build/fuzz.txt")
    log.parent.mkdir(exist_ok=True)
    place = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    failed = []
    for name in [options.kernel] if options.kernel else sorted(kernels):
        rounds = range(options.rounds) if options.round is None else [options.round]
        ends = Counter()
        for number in rounds:
            os.pwrite(
                place, f"--seed {options.seed} --kernel {name} --round {number:<9}".encode(), 0
            )
            faulthandler.dump_traceback_later(LONGEST_CALL, exit=True)
            rng = np.random.default_rng([options.seed, zlib.crc32(name.encode()), number])
            sets = _core.instruction_sets()
            _core.choose(sets[number % len(sets)])
            arguments = list(RECIPES[name](rng))
            if number:
                break_some(arguments, LENGTHS.get(name, ()), rng)
            outcome = outcome_of(kernels[name], arguments)
            ends[outcome] += 1
            if outcome not in (
                ("returned", "ValueError", "TypeError") if number else ("returned",)
            ):
                failed.append(f"--seed {options.seed} --kernel {name} --round {number}: {outcome}")
        faulthandler.cancel_dump_traceback_later()
        print(f"{name}: {dict(ends)}", flush=True)
    sys.exit("\n".join(failed) or None)


def outcome_of(kernel, arguments):
    try:
        kernel(*arguments)
    except Exception as error:
        return type(error).__name__
    return "returned"


def break_some(arguments, fixed, rng):
    """Change one to three of the arguments, or one of them more than once."""
    places = [place for place in range(len(arguments)) if place not in fixed]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(rng.integers(1, 4)):
            place = places[rng.integers(len(places))]
            arguments[place] = broken(arguments[place], rng)


def broken(argument, rng):
    """Return an argument with one thing changed."""
    if isinstance(argument, np.ndarray):
        return broken_array(argument.copy(), rng)
    if isinstance(argument, tuple):
        parts = list(argument)
        if not parts or rng.random() < 0.05:
            parts = parts[1:]
        else:
            place = rng.integers(len(parts))
            parts[place] = broken(parts[place], rng)
        return (
            type(argument)(*parts)
            if len(parts) == len(argument) and is_named(argument)
            else tuple(parts)
        )
    if isinstance(argument, bool | np.bool_):
        return not argument
    if isinstance(argument, int | np.integer):
        return int(
            rng.choice([int(argument) + 1, int(argument) - 1, rng.choice(INTEGERS[:-1]), 2**64 - 1])
        )
    return float(rng.choice(NUMBERS))


def is_named(argument):
    return hasattr(argument, "_fields")


def broken_array(array, rng):
    match rng.integers(8):
        case 0:  # random bytes
            array = np.frombuffer(rng.bytes(array.nbytes), array.dtype).reshape(array.shape).copy()
        case 1 | 2 | 3 if array.size:  # a few entries
            for _ in range(rng.integers(1, 4)):
                array.reshape(-1)[rng.integers(array.size)] = extreme(array.dtype, rng)
        case 4:  # a shorter one
            array = array[: rng.integers(len(array) + 1)].copy()
        case 5:  # a longer one
            array = np.concatenate([array, array[:1].repeat(rng.integers(1, 5), axis=0)])
        case 6:
            array = array[:0].copy()
        case 7:
            array = of_another_kind(array, rng)
    return array


def of_another_kind(array, rng):
    match rng.integers(4):
        case 0:
            return array.astype(rng.choice([np.uint8, np.int32, np.float32, np.uint64]))
        case 1:
            array.flags.writeable = False
            return array
        case 2:
            return array[::-1]
        case _:
            return array[np.newaxis]


def extreme(dtype, rng):
    """Return a number that an array of this type can have."""
    if dtype.kind == "b":
        return bool(rng.integers(2))
    if dtype.kind == "f":
        return rng.choice(NUMBERS)
    inside = [one for one in INTEGERS if np.iinfo(dtype).min <= one <= np.iinfo(dtype).max]
    return inside[rng.integers(len(inside))]


if __name__ == "__main__":
    main()
