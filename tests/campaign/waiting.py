"""Waiting for events, however busy the machine is."""

import asyncio
import os
import time
from collections.abc import Callable

LONG = 900 * float(os.environ.get("QUIETCROWD_SLOW", "1"))
"""Seconds after which a test gives up waiting: the only deadline of the tests.

A test that passes waits only as long as the event takes. A server's inferences yield to all other
work: if tests keep all cores busy, the first one takes a minute.
"""


def in_time(done: Callable[[], bool], seconds: float = LONG, every: float = 0.01) -> bool:
    """Return whether something is done before the deadline; `every` so often it is looked at."""
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            return False
        time.sleep(every)
    return True


async def come_true(done: Callable[[], bool]) -> None:
    """Wait, in an event loop, until something is done."""
    async with asyncio.timeout(LONG):
        while not done():
            await asyncio.sleep(0.01)
