"""How long a worker's device takes to start."""

import subprocess
import sys

import pytest

from timing import least_seconds

ARRAYS = "import numpy, pyarrow"
STARTS = {
    "A worker's device: its modules, `import quietcrowd.campaign.device.client`": (
        ["-c", "import quietcrowd.campaign.device.client"],
        0.5,
    ),
    "A worker's device: `quietcrowd worker answer --help`": (
        ["-m", "quietcrowd", "answer", "--help"],
        0.33,
    ),
}


@pytest.mark.parametrize("what", STARTS)
def test_start(benchmark, compare, what):
    """A new Python each time, against one that loads NumPy and PyArrow alone; in turn."""
    words, wanted = STARTS[what]
    seconds = {"ours": [], "arrays": []}

    def run_both():
        for name, given in (("ours", words), ("arrays", ["-c", ARRAYS])):
            seconds[name].append(_seconds([sys.executable, *given]))

    benchmark.pedantic(run_both, rounds=10, warmup_rounds=1)
    compare(what, min(seconds["ours"]), f"`{ARRAYS}`", min(seconds["arrays"]), wanted)


def _seconds(command):
    """Return how long a program takes, from its start to its end."""
    return least_seconds(lambda: subprocess.run(command, capture_output=True, check=True), rounds=1)
