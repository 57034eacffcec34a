"""How a server is set up."""

from __future__ import annotations

from ipaddress import ip_network

from attrs import field, frozen
from attrs.converters import optional
from attrs.validators import optional as optional_value

from quietcrowd.campaign.terms.byte_counts import byte_count
from quietcrowd.campaign.terms.server_address import address_in_page
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import at_least, check_text, checked_by, whole_number

__all__ = [
    "BODY_SECONDS",
    "MAX_AT_ONCE",
    "MAX_BODY",
    "MAX_COMPLETION_CODE",
    "MAX_IMAGE",
    "MAX_IMAGES",
    "MAX_IMAGE_BYTES",
    "MAX_ITERATIONS",
    "MAX_REPORTS",
    "MAX_TASKS",
    "MAX_TASK_TEXT",
    "PREFIX",
    "TAKING_SECONDS",
    "Settings",
    "place_of",
]

PREFIX = "/api/v1"
"""What all paths of the interface begin with."""

MAX_BODY = 2**20
"""Most bytes of a request."""

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

MAX_IMAGES = 1_000
"""Most images of a campaign: a worker fetches all of them, at most 20 a second in the long run."""

MAX_IMAGE_BYTES = 50 * 2**20
"""Most bytes of all images of a campaign."""


def _check_network(_: object, __: object, text: str) -> None:
    try:
        ip_network(text, strict=False)
    except ValueError:
        raise ParameterError(
            f"proxy must be an address as 10.0.0.1, or a network as 10.0.0.0/24; got {text!r}"
        ) from None


@frozen(kw_only=True)
class Settings:
    """How a server is set up.

    Attributes
    ----------
    database : str
        URL: ``sqlite:///FILE`` or ``postgresql://USER@HOST/NAME``.
    departures : str, optional
        URL of another database, which keeps who left and which campaigns ended, outside of copies;
        ``none`` for none. Default: a file beside that of SQLite, and none for PostgreSQL.
    host, port
        Where to listen.
    address : str, optional
        How workers reach the server: it stands in the page that they save. Default: what the
        request names.
    infer : bool
        Whether this server infers truths from what comes in, in a process of its own.
    debounce : float
        Seconds from the first change of a campaign to its inference.
    longest_inference : float
        Seconds after which an inference is ended, and the results say so.
    inference_memory : int or str
        Bytes that an inference in memory may take, as 1GB; larger campaigns are inferred from
        partitions on disk.
    inference_folder : str, optional
        Where these lie meanwhile; default: where temporary files go.
    scheduler : str, optional
        Of a Dask cluster that passes over them, as tcp://HOST:PORT; default: the process that
        infers.
    requests_per_second : float
        What a key or credential may ask for in the long run; 0 for no limit.
    burst : int
        What it may ask for at once.
    at_once : int
        Most requests that are worked on at once; further ones are refused for a while.
    at_once_each : int
        Most of them with one key or credential.
    joins_per_minute : float
        New workers a minute that one source may bring into campaigns that are open to all, in the
        long run; 0 for no limit. A source is an address, or a network of IPv6 of 64 bits.
    joins_at_once : int
        How many it may bring at once.
    proxy : str, optional
        Address of the server before this one, or a network in which it is: sources are what it says
        in X-Forwarded-For. Default: sources are who connects, and the header is not read.
    """

    database: str = field(
        default="sqlite:///quietcrowd.db", validator=checked_by(check_text), repr=False
    )
    departures: str | None = field(
        default=None, validator=optional_value(checked_by(check_text)), repr=False
    )
    host: str = field(default="127.0.0.1", validator=checked_by(check_text))
    port: int = field(default=8000, validator=whole_number(0, 65_535))
    address: str | None = field(default=None, converter=optional(address_in_page))
    infer: bool = True
    debounce: float = field(default=2.0, validator=at_least(0))
    longest_inference: float = field(default=600.0, validator=at_least(1))
    inference_memory: int = field(default=10**9, converter=byte_count)
    inference_folder: str | None = field(
        default=None, validator=optional_value(checked_by(check_text))
    )
    scheduler: str | None = field(default=None, validator=optional_value(checked_by(check_text)))
    requests_per_second: float = field(default=20.0, validator=at_least(0))
    burst: int = field(default=100, validator=whole_number(1))
    at_once: int = field(default=256, validator=whole_number(1))
    at_once_each: int = field(default=32, validator=whole_number(1))
    joins_per_minute: float = field(default=30.0, validator=at_least(0))
    joins_at_once: int = field(default=100, validator=whole_number(1))
    proxy: str | None = field(default=None, validator=optional_value(_check_network))


def place_of(host: str, port: int) -> str:
    """Return an address and a port as they stand in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
