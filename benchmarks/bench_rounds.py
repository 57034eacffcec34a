"""Many rounds of a million reports: time and memory of late ones and of early ones."""

import numpy as np
import pytest

from own_process import run_script


@pytest.mark.parametrize(
    ("kind", "rounds", "reports"), [("labels", 100, 10**6), ("numbers", 40, 10**5)]
)
def test_a_late_round_costs_what_an_early_one_does(tabulate, kind, rounds, reports):
    """Seconds per sweep, and memory, of the last ten rounds and of the sixth to the 15th."""
    found = run_script("rounds_run.py", kind, rounds, reports)
    early, late = (
        (
            np.median([one["seconds"] / (one["sweeps"] + 2) for one in part]),
            max(one["gigabytes"] for one in part),
        )
        for part in (found[5:15], found[-10:])
    )
    tabulate(
        f"Rounds: {reports:,} reports of 10,000 workers on 10,000 tasks each",
        {
            "reports": kind,
            "rounds": rounds,
            "seconds of the last": f"{found[-1]['seconds']:.2f}",
            "time of a sweep, late / early": f"{late[0] / early[0]:.2f}",
            "memory, late / early": f"{late[1] / early[1]:.2f}",
        },
    )
    assert late[1] <= 1.2 * early[1]
