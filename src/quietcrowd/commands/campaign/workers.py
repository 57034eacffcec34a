"""``quietcrowd campaign exclude``, ``erase`` and ``revoke``, for single workers and invites.

The answer of the server does not show whether the worker or invite exists, nor do these commands.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import typer

from quietcrowd.campaign.terms.tokens import PSEUDONYM, has_prefix
from quietcrowd.commands import options
from quietcrowd.commands.campaign.client import OnCampaign, checked
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.printing import counted, note
from quietcrowd.commands.worker.questions import agreed
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    import httpx

_STATES = {
    "excluded": "excluded",
    "to-be-excluded": "to be excluded",
    "to-be-included": "to be included again",
}
_LATER = (
    "What is to be comes with the next release, or the closing. Whom nobody is shown stays to be "
    "excluded."
)
_TOLD = 5


def _check_worker(one: str) -> str:
    if re.fullmatch(PSEUDONYM, one) is None:
        raise ParameterError("commands.pseudonym-invalid", one=one)
    return one


def _check_workers(some: list[str] | None) -> list[str]:
    return [_check_worker(one) for one in some or []]


@command("exclude")
class Exclude(OnCampaign):
    """Leave workers out of results, and print who is left out.

    Their reports stay, and files of reports hold them. Where workers are shown together, results
    follow with the next release or the closing.

    Example: quietcrowd campaign exclude 0123456789abcdef0123456789abcdef worker-0123456789abcdef

    Example: quietcrowd campaign exclude 0123456789abcdef0123456789abcdef
    """

    workers: list[str] | None = argument(
        metavar="WORKER",
        help="Pseudonyms, as results have them; without: who is excluded.",
        callback=_check_workers,
        default=None,
    )
    undo: bool = option(help="Exclude them no more.", default=False)
    as_json: bool = options.JSON

    def run(self) -> None:
        """Change who is excluded, and print it."""
        named = self.workers or []
        if self.undo and not named:
            raise ParameterError("commands.undo-without-workers")
        with self.client() as client:
            for one in named:
                url = f"/campaigns/{self.campaign_id}/excluded/{one}"
                checked(client.delete(url) if self.undo else client.put(url))
            found = _excluded(client, self.campaign_id)
        if self.as_json:
            typer.echo(json.dumps(found))
            return
        for item in found:
            typer.echo(f"{item['worker']}  {_STATES[item['state']]}")
        if not found:
            note("Nobody is excluded.")
        elif any(item["state"] != "excluded" for item in found):
            note(_LATER)


def _excluded(client: httpx.Client, campaign: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = checked(client.get(f"/campaigns/{campaign}/excluded")).json()[
        "items"
    ]
    return items


def tell_excluded(client: httpx.Client, campaign: str) -> None:
    """Print the workers who are excluded from results, or will be with the next release."""
    found = _excluded(client, campaign)
    for state, words in _STATES.items():
        names = [item["worker"] for item in found if item["state"] == state]
        if names:
            more = ", ..." * (len(names) > _TOLD)
            note(f"{words}: {counted(len(names), 'worker')} ({', '.join(names[:_TOLD])}{more})")


@command("erase")
class Erase(OnCampaign):
    """Delete one worker with all reports, for good.

    As if the worker had withdrawn: the device takes part in the campaign no more, and results
    follow at once, or with the next release. For workers who ask for it.

    Example: quietcrowd campaign erase 0123456789abcdef0123456789abcdef worker-0123456789abcdef
    """

    worker: str = argument(metavar="WORKER", help="The pseudonym.", callback=_check_worker)
    yes: bool = option(help="Delete without being asked.", default=False)

    def run(self) -> None:
        """Ask, and delete the worker."""
        with self.client() as client:
            checked(client.get(f"/campaigns/{self.campaign_id}"))
            if not (self.yes or agreed(f"Delete {self.worker} and all that came of it for good?")):
                note("Nothing was deleted.")
                raise typer.Exit(1)
            checked(client.delete(f"/campaigns/{self.campaign_id}/workers/{self.worker}"))
        note(
            "The campaign holds nothing of such a worker any more. Copies of the database, and "
            "files that you took out, still may: delete them too."
        )


@command("revoke")
class Revoke(OnCampaign):
    """Revoke invites: nobody can join with them any more.

    Whether one was used before is not told, and nothing happens to whoever used it.

    Example: quietcrowd campaign revoke 0123456789abcdef0123456789abcdef < links.txt

    Example: quietcrowd campaign revoke 0123456789abcdef0123456789abcdef 'https://example.org/j/...'
    """

    links: list[str] | None = argument(
        metavar="LINK",
        help="As they were handed out, or what follows #i=; without: standard input, one in a "
        "line, which no list of commands keeps.",
        default=None,
    )

    def run(self) -> None:
        """Revoke the invites."""
        written = self.links or [line.strip() for line in sys.stdin if line.strip()]
        tokens = [
            _invite(one, self.campaign_id, place) for place, one in enumerate(written, start=1)
        ]
        if not tokens:
            raise ParameterError("commands.link-missing")
        with self.client() as client:
            for token in tokens:
                url = f"/campaigns/{self.campaign_id}/invites/revoke"
                checked(client.post(url, json={"invite": token}))
        note(f"{counted(len(tokens), 'invite')} let nobody in from now on.")


def _invite(link: str, campaign: str, place: int) -> str:
    """Return the invite in a link; errors do not show it."""
    address, _, token = link.rpartition("#i=")
    if not has_prefix(token, "qci_"):
        raise ParameterError("commands.link-without-invite", place=place)
    if address and not address.rstrip("/").endswith(f"/j/{campaign}"):
        raise ParameterError("commands.link-of-another-campaign", place=place)
    return token
