"""Limits of the protocol."""

import re

from quietcrowd.exceptions import ParameterError

PREFIX = "/api/v1"  # prefix of all paths of the API
MAX_BODY = 2**20  # most bytes of a request

MAX_FILE = 8 * MAX_BODY  # most bytes of a file of tasks, or of an image with metadata

MAX_SMALL_BODY = 4_096
"""Most bytes of a request by an unknown client: to join, or to read public data."""

BODY_SECONDS = 20.0
"""Seconds to receive the head of a request, and then its body: a megabyte at half a megabit a
second."""

TAKING_SECONDS = 60.0  # seconds for the client to accept the next part of a response

MAX_AT_ONCE = 64 * MAX_BODY
"""Most bytes of requests processed at once; parsing needs several times as much memory."""

MAX_REPORTS = 5_000
"""Most reports of one upload, and most tasks of a campaign whose workers report every task.

All reports of a worker fit into one upload (5,000 are at most 0.8 MB), so that the number and
order of uploads reveal nothing."""

MAX_TASKS = 20_000  # most tasks of a campaign, because a worker reads all of them at once
DECIDED_FROM = 0.8
"""Least confidence of a decided truth; a tied label is never decided.

Pages, exports and commands call other labels undecided. With two labels and no known truths,
`NoiseAware` stays below 90 %, because most workers may share an error."""

MAX_COMPLETION_CODE = 100  # most characters of a completion code
MAX_ITERATIONS = 10_000  # most iterations of a campaign's method
MAX_TASK_TEXT = 8_000_000  # most characters of all tasks of a campaign: names and data as JSON
MAX_IMAGE = MAX_BODY  # most bytes of an image, which is sent in one request

MAX_PIXELS = 40_000_000
"""Most pixels of an image; a device needs four bytes for each, even if the file is small."""

MAX_IMAGES = 1_000
"""Most images of a campaign; a worker fetches all of them, at most 20 a second on average."""

MAX_IMAGE_BYTES = 50 * 2**20  # most bytes of all images of a campaign


def place_of(host: str, port: int) -> str:
    """Return host and port as in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


_UNITS: dict[str, int] = {
    "": 1,
    "B": 1,
    **{f"{letter}B": int(1000**power) for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}IB": int(1024**power) for power, letter in enumerate("KMGT", 1)},
}
_COUNT = re.compile(r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*([a-zA-Z]{0,3})\s*")


def byte_count(written: str | int) -> int:
    """Parse a number of bytes; raise `ParameterError` if it is invalid."""
    found = _COUNT.fullmatch(str(written))
    if found is None or found[2].upper() not in _UNITS:
        raise ParameterError("campaign.bytes-invalid", written=written)
    return round(float(found[1]) * _UNITS[found[2].upper()])
