"""Options and HTTP client of the requester's commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from quietcrowd.campaign.extra import require_client
from quietcrowd.campaign.terms.plain_text import refusal
from quietcrowd.campaign.terms.server_address import ServerAddress
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    import httpx

__all__ = ["LOCAL", "Campaign", "Key", "Server", "check_id", "checked", "requester_client"]


def check_id(one: str) -> str:
    """Return a campaign id; raise ParameterError if it is invalid."""
    if re.fullmatch("[0-9a-f]{32}", one) is None:
        raise ParameterError(
            f"a campaign's id is 32 hexadecimal digits, got {one!r}: quietcrowd campaign list "
            "tells it"
        )
    return one


Campaign = Annotated[str, typer.Argument(metavar="CAMPAIGN", help="Its id.", callback=check_id)]
Server = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="QUIETCROWD_SERVER",
        help="Where the server is: https://, unless it is this machine.",
    ),
]
Key = Annotated[
    str,
    typer.Option(
        "--key",
        metavar="KEY",
        envvar="QUIETCROWD_KEY",
        help="A requester's key; better in the environment than on the command line.",
    ),
]
LOCAL = "http://127.0.0.1:8000"


@contextmanager
def requester_client(server: str, secret: str) -> Iterator[httpx.Client]:
    """Provide a client of a server within a context; connection errors become ParameterError.

    The key is never sent to another machine without encryption, or through a proxy to this one.
    Raises ParameterError without a key or with an invalid address, and MissingExtraError without
    httpx.
    """
    require_client()
    import httpx

    if not secret:
        raise ParameterError(
            "a requester's key is needed: QUIETCROWD_KEY or --key; quietcrowd campaign key makes "
            "one"
        )
    address = ServerAddress.read(server)
    try:
        with httpx.Client(
            base_url=f"{address.url}/api/v1",
            headers={"Authorization": f"Bearer {secret}"},
            timeout=60,
            trust_env=not address.local,
        ) as client:
            yield client
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise ParameterError(f"the server {address.url} cannot be reached: {error}") from None


def checked(response: httpx.Response) -> httpx.Response:
    """Return a response; raise ParameterError if it is an error."""
    if response.is_success:
        return response
    raise ParameterError(f"the server refuses: {refusal(response)}")
