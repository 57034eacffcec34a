"""``quietcrowd campaign workers``: exclude, include and erase workers.

The answer of the server does not show whether a worker exists, nor do these commands.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import typer

from quietcrowd.campaign.terms.tokens import PSEUDONYM
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
    "Pending changes take effect with the next release, or at closing. Workers that are never "
    "released stay to be excluded."
)
_MOST_NAMES = 5


def _check_worker(one: str) -> str:
    if re.fullmatch(PSEUDONYM, one) is None:
        raise ParameterError("commands.pseudonym-invalid", one=one)
    return one


def _check_workers(some: list[str] | None) -> list[str]:
    return [_check_worker(one) for one in some or []]


@command()
class Exclude(OnCampaign):
    """Exclude workers from results.

    It prints all excluded workers. Their reports stay in the database and in files of reports.
    With a batch size above 1, results change with the next release or at closing.

    Example: quietcrowd campaign workers exclude 0123456789abcdef0123456789abcdef
    worker-0123456789abcdef

    Example: quietcrowd campaign workers exclude 0123456789abcdef0123456789abcdef
    """

    workers: list[str] | None = argument(
        metavar="WORKER",
        help="Pseudonyms from the results. Default: print the excluded workers.",
        callback=_check_workers,
        default=None,
    )
    as_json: bool = options.JSON

    def run(self) -> None:
        """Exclude the workers, and print all who are excluded."""
        with self.client() as client:
            for one in self.workers or []:
                checked(client.put(f"/campaigns/{self.campaign_id}/excluded/{one}"))
            _print_excluded(client, self.campaign_id, as_json=self.as_json)


@command()
class Include(OnCampaign):
    """Include excluded workers again.

    Example: quietcrowd campaign workers include 0123456789abcdef0123456789abcdef
    worker-0123456789abcdef
    """

    workers: list[str] = argument(metavar="WORKER", help="Pseudonyms.", callback=_check_workers)
    as_json: bool = options.JSON

    def run(self) -> None:
        """Include the workers, and print all who are excluded."""
        with self.client() as client:
            for one in self.workers:
                checked(client.delete(f"/campaigns/{self.campaign_id}/excluded/{one}"))
            _print_excluded(client, self.campaign_id, as_json=self.as_json)


def _print_excluded(client: httpx.Client, campaign: str, *, as_json: bool) -> None:
    found = _excluded(client, campaign)
    if as_json:
        typer.echo(json.dumps(found))
        return
    for item in found:
        typer.echo(f"{item['worker']}  {_STATES[item['state']]}")
    if not found:
        note("No worker is excluded.")
    elif any(item["state"] != "excluded" for item in found):
        note(_LATER)


def _excluded(client: httpx.Client, campaign: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = checked(client.get(f"/campaigns/{campaign}/excluded")).json()[
        "items"
    ]
    return items


def print_excluded(client: httpx.Client, campaign: str) -> None:
    """Print the workers who are excluded from results, or will be with the next release."""
    found = _excluded(client, campaign)
    for state, words in _STATES.items():
        names = [item["worker"] for item in found if item["state"] == state]
        if names:
            more = ", ..." * (len(names) > _MOST_NAMES)
            note(
                f"{words}: {counted(len(names), 'worker')} ({', '.join(names[:_MOST_NAMES])}{more})"
            )


@command()
class Erase(OnCampaign):
    """Delete a worker permanently.

    This has the effect of a withdrawal: all reports are deleted, the device cannot answer the
    campaign again, and results change now or with the next release.

    Example: quietcrowd campaign workers erase 0123456789abcdef0123456789abcdef
    worker-0123456789abcdef
    """

    worker: str = argument(
        metavar="WORKER", help="Pseudonym of the worker.", callback=_check_worker
    )
    yes: bool = option(help="Delete without confirmation.", default=False)

    def run(self) -> None:
        """Ask, and delete the worker."""
        with self.client() as client:
            checked(client.get(f"/campaigns/{self.campaign_id}"))
            if not (self.yes or agreed(f"Delete {self.worker} and all its data permanently?")):
                note("Nothing was deleted.")
                raise typer.Exit(1)
            checked(client.delete(f"/campaigns/{self.campaign_id}/workers/{self.worker}"))
        note(
            "The campaign contains no data of this worker. Copies of the database and exported "
            "files may still contain some. Delete them too."
        )
