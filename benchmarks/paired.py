"""Compare the speed of this checkout with another.

Usage: python benchmarks/paired.py OTHER [--pairs N] [--instructions NAME] [PART ...]

Both do the same work turn and turn about, each in a process of its own, so that what else the
machine does falls on both. Printed are the median of the ratios, this by the other, and an
interval that holds it with 95 % (order statistics: no distribution of the times is assumed). PART
is a part of the names of the works; without one, all are compared. Each checkout runs in its own
environment, `.venv`; --instructions names an instruction set for this one's kernels, for example
x86-64-v3.
"""

import argparse
import os
import subprocess
from pathlib import Path

import numpy as np
from scipy.stats import binom

from paired_work import WORKS

HERE = Path(__file__).resolve().parent


def start(checkout, instructions=""):
    """Start a process that works with a checkout's code."""
    return subprocess.Popen(
        [checkout / ".venv" / "bin" / "python", HERE / "paired_work.py", instructions],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(HERE), str(checkout)))},
    )


def ask(process, name):
    """Return the seconds of a work."""
    process.stdin.write(name + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def ratios(this, other, name, pairs):
    """Return the ratios of pairs; who begins alternates. Empty where one of them cannot do it."""
    found = []
    for pair in range(pairs + 1):
        both = (this, other) if pair % 2 else (other, this)
        times = {process: ask(process, name) for process in both}
        if min(times.values()) < 0:
            return np.array([])
        found.append(times[this] / times[other])
    return np.sort(found[1:])


def compared(found):
    """Return the figures of a row."""
    if not len(found):
        return f"{'-':>8}"
    outside = int(binom.ppf(0.025, len(found), 0.5)) - 1
    return f"{np.median(found):8.3f}   {found[outside]:.3f} to {found[-1 - outside]:.3f}"


def main():
    """Compare all, or what is named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("other", type=Path, help="the folder of the other checkout")
    parser.add_argument("parts", nargs="*", help="parts of the names of works; all, without one")
    parser.add_argument("--pairs", type=int, default=31, help="at least 6")
    parser.add_argument("--instructions", default="", help="of this checkout's kernels")
    words = parser.parse_intermixed_args()
    processes = start(HERE.parent, words.instructions), start(words.other.resolve())
    print(f"{'work':42}{'ratio':>8}   95 %")
    for name in WORKS:
        if not words.parts or any(part in name for part in words.parts):
            print(f"{name:42}{compared(ratios(*processes, name, words.pairs))}", flush=True)
    for process in processes:
        process.communicate()


if __name__ == "__main__":
    main()
