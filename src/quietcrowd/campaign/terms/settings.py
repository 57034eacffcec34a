"""Limits of the protocol, and what servers are usually limited to."""

from __future__ import annotations

__all__ = [
    "BODY_SECONDS",
    "MAX_AT_ONCE",
    "MAX_BODY",
    "MAX_COMPLETION_CODE",
    "MAX_IMAGE",
    "MAX_IMAGES",
    "MAX_IMAGE_BYTES",
    "MAX_ITERATIONS",
    "MAX_PIXELS",
    "MAX_REPORTS",
    "MAX_SMALL_BODY",
    "MAX_TASKS",
    "MAX_TASK_TEXT",
    "PREFIX",
    "TAKING_SECONDS",
    "place_of",
]

PREFIX = "/api/v1"
"""What all paths of the interface begin with."""

MAX_BODY = 2**20
"""Most bytes of a request."""

MAX_SMALL_BODY = 4_096
"""Most bytes of a request of somebody who is not known yet: to join, or to read what is public."""

BODY_SECONDS = 20.0
"""In which the head of a request has to be here, and then its body: a megabyte, at half a megabit a
second."""

TAKING_SECONDS = 60.0
"""In which the next piece of an answer has to be taken."""

MAX_AT_ONCE = 64 * MAX_BODY
"""Most bytes of requests that are worked on at once: read, they take several times as much."""

MAX_REPORTS = 5_000
"""Most reports of one upload, and most tasks of a campaign whose workers report every task.

All reports of a worker fit into one upload, so that how many there are, and in which order, tells
nothing: 5,000 of them are at most 0.8 MB.
"""

MAX_TASKS = 20_000
"""Most tasks of a campaign: a worker reads all of them at once."""

MAX_COMPLETION_CODE = 100
"""Most characters of what a campaign gives to workers whose reports are stored."""

MAX_ITERATIONS = 10_000
"""Most iterations that the method of a campaign may ask for."""

MAX_TASK_TEXT = 8_000_000
"""Most characters of all tasks of a campaign: names, and what workers are shown, as JSON."""

MAX_IMAGE = MAX_BODY
"""Most bytes of an image: it comes in one request."""

MAX_PIXELS = 40_000_000
"""Most pixels of an image: a device needs four bytes for each, however small the file is."""

MAX_IMAGES = 1_000
"""Most images of a campaign: a worker fetches all of them, at most 20 a second in the long run."""

MAX_IMAGE_BYTES = 50 * 2**20
"""Most bytes of all images of a campaign."""


def place_of(host: str, port: int) -> str:
    """Return an address and a port as they stand in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
