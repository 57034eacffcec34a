"""Requester of the demo: creates the campaign, and reads its results over HTTP."""

import csv
import io
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
from attrs import field, frozen

from quietcrowd.campaign.terms.plain_text import refusal
from quietcrowd.exceptions import CampaignError

_PATIENCE = 600.0
"""Maximum seconds of an inference, including imports."""

_PAUSE = 0.2


@frozen(kw_only=True)
class DemoCampaign:
    """Open campaign with a client that has the requester's key."""

    server: str
    id: str
    key: str = field(repr=False)
    client: httpx.Client = field(repr=False)

    def dashboard(self) -> str:
        """Return a new link to the dashboard, which works once."""
        made = _checked(self.client.post(f"/campaigns/{self.id}/dashboard-codes")).json()
        return f"{self.server}{made['fragment']}"

    @cached_property
    def guest(self) -> str:
        """Link for one more worker in a browser or a terminal."""
        return self.links(1)[0]

    def links(self, count: int) -> list[str]:
        """Return new links, each for one worker."""
        made = _checked(
            self.client.post(f"/campaigns/{self.id}/invites", json={"count": count, "local": True})
        ).json()
        return [f"{self.server}{fragment}" for fragment in made["fragments"]]

    def results(self, reports: int) -> dict[str, Any]:
        """Return the results of at least this many reports, polling until they exist."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            answer = self.client.get(f"/campaigns/{self.id}/results")
            if answer.is_success and answer.json()["reports"] >= reports:
                found: dict[str, Any] = answer.json()
                return found
            time.sleep(_PAUSE)
        raise CampaignError("commands.server-silent", patience=_PATIENCE)

    def close(self) -> None:
        """Let nobody join or send any longer."""
        _checked(self.client.post(f"/campaigns/{self.id}/close"))

    def export(self, file: Path) -> None:
        """Write all reports to a file."""
        file.write_bytes(_checked(self.client.get(f"/campaigns/{self.id}/reports")).content)


def _checked(response: httpx.Response) -> httpx.Response:
    if not response.is_success:
        raise CampaignError("commands.server-refuses", refusal=refusal(response))
    return response


_PROMISES = {
    "requester": "The demo of quietcrowd",
    "contact": "None: the demo ends soon",
    "purpose": "To demonstrate a campaign",
    "retention_days": 1,
    "at_least": 1,
}
"""Reports are shown immediately, so that the demo need not wait for others or close."""


@contextmanager
def requester_of(
    server: str, key: str, *, questions: Sequence[tuple[str, str]], **draft: Any
) -> Iterator[DemoCampaign]:
    """Create and open a campaign, and provide it within a context."""
    table = io.StringIO()
    csv.writer(table).writerows([("task", "question"), *questions])
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(
        base_url=f"{server}/api/v1", headers=headers, timeout=60, verify=False, trust_env=False
    ) as client:
        made = _checked(client.post("/campaigns", json={**_PROMISES, **draft})).json()["id"]
        content = table.getvalue().encode()
        kind = {"Content-Type": "text/csv"}
        _checked(client.post(f"/campaigns/{made}/tasks", content=content, headers=kind))
        _checked(client.post(f"/campaigns/{made}/open"))
        yield DemoCampaign(server=server, id=made, key=key, client=client)
