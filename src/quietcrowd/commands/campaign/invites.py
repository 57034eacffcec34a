"""``quietcrowd campaign invites``: create, replace and revoke links.

The answer of the server does not show whether an invite was used, nor do these commands.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import typer

from quietcrowd.campaign.extra import require_qr_codes
from quietcrowd.campaign.terms.server_address import is_here
from quietcrowd.campaign.terms.tokens import has_prefix
from quietcrowd.commands.campaign.client import OnCampaign, checked
from quietcrowd.commands.declare import argument, command, option, option_group
from quietcrowd.commands.printing import counted, note
from quietcrowd.commands.worker.questions import agreed
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats.files import check_folder, check_new
from quietcrowd.private_files import create_private

if TYPE_CHECKING:
    import httpx


@option_group("Links")
class PrintsLinks(OnCampaign):
    """Options for commands that print links for workers."""

    local: bool = option(
        help="Print links that open only on this computer, for a trial.", default=False
    )
    qr: Path | None = option(
        metavar="FILE.html", help="Also write a new page of QR codes, to print.", default=None
    )

    def check_links(self) -> None:
        """Raise ParameterError if links would lead nowhere, or codes could not be written."""
        if not self.local and is_here(urlsplit(self.address).hostname or ""):
            raise ParameterError("commands.links-local", address=self.address)
        if self.qr is not None:
            require_qr_codes()  # before a link is made
            if self.qr.suffix.lower() not in (".html", ".htm"):
                raise ParameterError("commands.sheet-not-html", path=self.qr)
            check_new(self.qr)
            check_folder(self.qr)

    def print_links(self, client: httpx.Client, made: dict[str, Any]) -> None:
        """Print links, which the server never shows again, and write their codes."""
        links = [f"{self.address}{fragment}" for fragment in made["fragments"]]
        for link in links:
            typer.echo(link)
        if self.qr is not None:
            from quietcrowd.commands.campaign.sheet import qr_sheet

            campaign = checked(client.get(f"/campaigns/{self.campaign_id}")).json()
            if not create_private(self.qr, qr_sheet(campaign, links).encode()):
                check_new(self.qr)
            note(f"Written to {self.qr}. Delete it when the links are given out.")


@command()
class CreateInvites(PrintsLinks):
    """Create links, each for one worker.

    They are printed once and cannot be printed again.

    Example: quietcrowd campaign invites create 0123456789abcdef0123456789abcdef --count 20
    --server https://example.org --qr codes.html
    """

    count: int = option(min=1, max=1_000, metavar="NUMBER", help="Number of links.", default=1)

    def run(self) -> None:
        """Print new links."""
        self.check_links()
        with self.client() as client:
            url = f"/campaigns/{self.campaign_id}/invites"
            made = checked(client.post(url, json={"count": self.count, "local": self.local})).json()
            self.print_links(client, made)


@command()
class ReplaceInvite(PrintsLinks):
    """Replace the link of a worker.

    It prints a new link with the same tasks, for a worker who cannot go on with the old one.
    Everything that was sent with the old link is deleted, and no one can join or send with it. It
    does not print whether the old link was used.

    Example: quietcrowd campaign invites replace 0123456789abcdef0123456789abcdef
    'https://example.org/j/...' --server https://example.org
    """

    link: str | None = argument(
        metavar="LINK",
        help="The link, or its part after #i=. Default: a line of standard input, which no shell "
        "history records.",
        default=None,
    )
    yes: bool = option(help="Replace without confirmation.", default=False)

    def run(self) -> None:
        """Ask, and print the new link."""
        self.check_links()
        invite = _invite((self.link or sys.stdin.readline()).strip(), self.campaign_id, 1)
        with self.client() as client:
            checked(client.get(f"/campaigns/{self.campaign_id}"))
            if not (self.yes or agreed(_REPLACE)):
                note("Nothing was replaced.")
                raise typer.Exit(1)
            url = f"/campaigns/{self.campaign_id}/invites/replace"
            self.print_links(client, checked(client.post(url, json={"invite": invite})).json())
        note("The old link is invalid, and what was sent with it is deleted, if anything was.")


_REPLACE = (
    "Everything that was sent with this link, if anything was, will be deleted permanently. "
    "Answers that a browser has kept but not sent cannot be sent any longer. Replace the link?"
)


@command()
class RevokeInvites(OnCampaign):
    """Revoke invites.

    No one can join or send with them. Reports that were sent stay, and it does not print whether an
    invite was used.

    Example: quietcrowd campaign invites revoke 0123456789abcdef0123456789abcdef < links.txt

    Example: quietcrowd campaign invites revoke 0123456789abcdef0123456789abcdef
    'https://example.org/j/...'
    """

    links: list[str] | None = argument(
        metavar="LINK",
        help="Links, or their parts after #i=. Default: standard input, one per line, which no "
        "shell history records.",
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
        note(f"Revoked {counted(len(tokens), 'invite')}. No one can join with a revoked invite.")


def _invite(link: str, campaign: str, place: int) -> str:
    address, _, token = link.rpartition("#i=")
    if not has_prefix(token, "qci_"):
        raise ParameterError("commands.link-without-invite", place=place)
    if address and not address.rstrip("/").endswith(f"/j/{campaign}"):
        raise ParameterError("commands.link-of-another-campaign", place=place)
    return token
