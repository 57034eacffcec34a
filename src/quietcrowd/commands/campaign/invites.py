"""``quietcrowd campaign invites``: create and revoke invites."""

import sys

import typer

from quietcrowd.campaign.terms.tokens import has_prefix
from quietcrowd.commands.campaign.client import OnCampaign, checked
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.printing import counted, note
from quietcrowd.exceptions import ParameterError


@command()
class CreateInvites(OnCampaign):
    """Create links, each for one worker.

    They are printed once and cannot be printed again.

    Example: quietcrowd campaign invites create 0123456789abcdef0123456789abcdef --count 20
    """

    count: int = option(min=1, max=1_000, metavar="NUMBER", help="Number of links.", default=1)

    def run(self) -> None:
        """Print new links."""
        with self.client() as client:
            made = checked(
                client.post(f"/campaigns/{self.campaign_id}/invites", json={"count": self.count})
            ).json()
        for fragment in made["fragments"]:
            typer.echo(f"{self.address}{fragment}")


@command()
class RevokeInvites(OnCampaign):
    """Revoke invites.

    No one can join with them. Workers who joined before are not affected, and it does not print
    whether an invite was used.

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
        note(f"{counted(len(tokens), 'invite')} let nobody in from now on.")


def _invite(link: str, campaign: str, place: int) -> str:
    address, _, token = link.rpartition("#i=")
    if not has_prefix(token, "qci_"):
        raise ParameterError("commands.link-without-invite", place=place)
    if address and not address.rstrip("/").endswith(f"/j/{campaign}"):
        raise ParameterError("commands.link-of-another-campaign", place=place)
    return token
