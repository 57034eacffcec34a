"""Timing of what is compared with."""

import time


def least_seconds(work, rounds=7):
    """Return the least time of several calls; the least is what other programs disturb least."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
