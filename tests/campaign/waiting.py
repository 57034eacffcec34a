"""Waiting for what comes in time, however busy the machine is."""

import time
from collections.abc import Callable

LONG = 300
"""Seconds after which nothing comes any more; what comes is waited for no longer than it takes.

A server's inferences yield to all others: where tests keep all cores busy, the first one takes a
minute.
"""


def in_time(done: Callable[[], bool], seconds: float = LONG) -> bool:
    """Return whether something is done before long."""
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True
