"""Options and HTTP client of the requester's commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from quietcrowd.campaign.extra import require_client
from quietcrowd.campaign.terms.plain_text import refusal
from quietcrowd.campaign.terms.server_address import ServerAddress
from quietcrowd.commands.declare import argument, option, option_group
from quietcrowd.commands.printing import note
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    import httpx


def check_id(one: str) -> str:
    """Return a campaign id; raise ParameterError if it is invalid."""
    if re.fullmatch("[0-9a-f]{32}", one) is None:
        raise ParameterError("commands.campaign-id-invalid", one=one)
    return one


@option_group("Server")
class OnServer:
    """Options for commands that call a server as a requester."""

    server: str = option(
        metavar="URL",
        envvar="QUIETCROWD_SERVER",
        help="Address of the server: https://, except on this machine.",
        default="http://127.0.0.1:8000",
    )
    secret: str = option(
        "--key",
        metavar="KEY",
        envvar="QUIETCROWD_KEY",
        help="A requester's key. The environment is safer than the command line.",
        default="",
    )

    @property
    def address(self) -> str:
        """URL of the server."""
        return ServerAddress.read(self.server).url

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """Provide a client of the server within a context; connection errors: ParameterError.

        The key is never sent to another machine without encryption, or through a proxy to this one.
        """
        require_client()
        import httpx

        if not self.secret:
            raise ParameterError("commands.key-missing")
        address = ServerAddress.read(self.server)
        try:
            with httpx.Client(
                base_url=f"{address.url}/api/v1",
                headers={"Authorization": f"Bearer {self.secret}"},
                timeout=60,
                trust_env=not address.local,
            ) as client:
                yield client
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise ParameterError(
                "commands.server-unreachable", url=address.url, error=error
            ) from None


@option_group("Server")
class OnCampaign(OnServer):
    """Argument and options for commands about one campaign on a server."""

    campaign_id: str = argument(metavar="CAMPAIGN", help="Its id.", callback=check_id)


def checked(response: httpx.Response) -> httpx.Response:
    """Return a response; raise ParameterError if it is an error."""
    if response.is_success:
        return response
    raise ParameterError("commands.server-refuses", refusal=refusal(response))


@contextmanager
def deleting_on_failure(client: httpx.Client, draft: str) -> Iterator[None]:
    """Delete the draft if the upload of its tasks fails; print its id if the deletion fails too."""
    import httpx

    try:
        yield
    except BaseException:
        try:
            deleted = client.delete(f"/campaigns/{draft}").is_success
        except httpx.TransportError:
            deleted = False
        if not deleted:
            note(f"The draft {draft} stays on the server, perhaps with some of its tasks.")
        raise
