"""``quietcrowd worker verify``: comparison of a server's page for workers with this release."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import typer

from quietcrowd.campaign.extra import require_client
from quietcrowd.campaign.terms.server_address import CampaignLink, ServerAddress
from quietcrowd.commands import options
from quietcrowd.commands.declare import argument, command
from quietcrowd.commands.printing import counted, note

if TYPE_CHECKING:
    from quietcrowd.campaign.web.verification import Verification


@command()
class Verify:
    """Compare a server's page for workers with this release.

    Prints a line for each file that differs, and the SHA-384 of the page that a worker can save
    there; sha384sum prints that of a file. The exit status is 1 if something differs. An invite in
    a link is not sent.

    Example: quietcrowd worker verify https://example.org
    """

    url: str = argument(metavar="URL", help="URL of a server, or a worker's link.")
    as_json: bool = options.JSON

    def run(self) -> None:
        """Compare, and print the differences."""
        require_client()
        from quietcrowd.campaign.web import verification, worker_page

        server, campaign = _asked(self.url, worker_page.ANY_CAMPAIGN)
        found = verification.verify_server(server, campaign)
        if self.as_json:
            typer.echo(json.dumps(found.to_dict()))
        else:
            for one in found.differences:
                typer.echo(f"{one.path}: {one.reason}")
            if found.saved_page is not None:
                typer.echo(f"saved page: SHA-384 {found.saved_page}")
        _print(found)
        if not found.same:
            raise typer.Exit(1)


def _asked(url: str, any_campaign: str) -> tuple[str, str]:
    try:
        is_link = "/j/" in urlsplit(url).path
    except ValueError:
        is_link = False
    if is_link:
        link = CampaignLink.read(url)
        return link.server, link.campaign
    return ServerAddress.read(url).url, any_campaign


def _print(found: Verification) -> None:
    what = f"{counted(found.files, 'file')} of {found.server}"
    if found.same:
        note(
            f"{what} are those of quietcrowd {found.version}. The server can give others another "
            "page than this program. To check that, save the page and compare its SHA-384."
        )
    else:
        differ = counted(len(found.differences), "difference")
        note(
            f"{what} were compared with quietcrowd {found.version}: {differ}. Do not answer there."
        )
