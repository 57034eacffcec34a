"""Waiting for events, however busy the machine is."""

import os
import time
from collections.abc import Callable

LONG = 300 * float(os.environ.get("QUIETCROWD_SLOW", "1"))
"""Seconds after which a test gives up waiting: the only deadline of the tests.

A test that passes waits only as long as the event takes. A server's inferences yield to all other
work: if tests keep all cores busy, the first one takes a minute.
"""


def in_time(done: Callable[[], bool], seconds: float = LONG) -> bool:
    """Return whether something is done before the deadline."""
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True
