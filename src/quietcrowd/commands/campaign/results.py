"""``quietcrowd campaign results``: the latest inference results, as JSON."""

from __future__ import annotations

import shutil
import sys
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any

import typer

from quietcrowd.commands.campaign.client import (
    LOCAL,
    Campaign,
    Key,
    Server,
    checked,
    requester_client,
)
from quietcrowd.commands.campaign.workers import tell_excluded
from quietcrowd.commands.printing import note
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    import httpx

__all__ = ["results"]

_IN_MEMORY = 16 * 2**20
"""Bytes of results in memory; larger ones go to a temporary file."""

_TRIES = 5


def results(campaign_id: Campaign, server: Server = LOCAL, secret: Key = "") -> None:
    """Print the latest results as JSON, and warnings as notes.

    Notes say who is excluded, too.

    Example: quietcrowd campaign results 0123456789abcdef0123456789abcdef
    """
    with SpooledTemporaryFile(_IN_MEMORY) as file, requester_client(server, secret) as client:
        head = _fetch(client, f"/campaigns/{campaign_id}/results", file)
        file.seek(0)
        sys.stdout.flush()
        shutil.copyfileobj(file, sys.stdout.buffer)
        typer.echo()
        for warning in head["warnings"]:
            note(f"{warning['code']}: {warning['message']}")
        tell_excluded(client, campaign_id)


def _fetch(client: httpx.Client, url: str, file: IO[bytes]) -> dict[str, Any]:
    """Download complete results to a file, and return their head.

    Retries if other results replace them, and finally raises ParameterError.
    """
    import httpx

    for _ in range(_TRIES):
        head = checked(client.get(f"{url}/head"))
        file.seek(0)
        file.truncate()
        try:
            with client.stream("GET", url) as response:
                if not response.is_success:
                    response.read()
                if checked(response).headers["ETag"] != head.headers["ETag"]:
                    continue
                for block in response.iter_bytes():
                    file.write(block)
        except httpx.RemoteProtocolError:
            continue  # other results have replaced them
        found: dict[str, Any] = head.json()
        return found
    raise ParameterError(
        "results were replaced by others while they came, again and again: try again in a while"
    )
