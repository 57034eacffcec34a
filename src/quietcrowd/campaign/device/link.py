"""The link that lets a worker in: a server, a campaign, and an invite that no server is shown."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import SplitResult, urlsplit

from attrs import field, frozen

from quietcrowd.campaign.terms.server_address import (
    is_protected,
    origin_of,
    spell_server,
    without_user,
)
from quietcrowd.campaign.terms.tokens import has_prefix, hide_tokens
from quietcrowd.exceptions import ParameterError

__all__ = ["CampaignLink"]

_PATH = re.compile(
    r"(?P<prefix>(?:/(?!\.\.?/)[A-Za-z0-9._~-]+)*)/j/(?P<campaign>[0-9a-f]{32})/?", re.ASCII
)
"""Without steps like ``/../``, which would be a second spelling."""
_EXAMPLE = "https://example.org/j/0123456789abcdef0123456789abcdef#i=qci_..."


@frozen(kw_only=True)
class CampaignLink:
    """A campaign on a server.

    Attributes
    ----------
    server : str
        Its address, as ``https://example.org``, in its one spelling: where requests go. Nothing but
        HTTPS, unless it is this machine.
    campaign : str
        Id, 16 bytes in hex.
    invite : str or None
        What lets one worker in; not printed.
    """

    server: str
    campaign: str
    invite: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """One campaign of one server, however the link was spelled; without its invite."""
        path = urlsplit(self.server).path
        return f"{self.origin}{path}/j/{self.campaign}"

    @property
    def origin(self) -> str:
        """The server without a path, of which this machine is one: see `origin_of`.

        Whoever has one of a server's paths may have the others.
        """
        return origin_of(self.server)

    @property
    def local(self) -> bool:
        """Whether the server is this machine, spoken to without HTTPS."""
        return self.server.startswith("http:")

    @classmethod
    def read(cls, url: str, invite: str | None = None) -> CampaignLink:
        """Return what a link says.

        Parameters
        ----------
        url : str
            As ``quietcrowd campaign invite`` prints it; or without what follows ``#``.
        invite : str, optional
            Where it is not in the link.

        Raises
        ------
        ParameterError
            Where it is no such link, would go through a network without HTTPS, or has a second
            invite. No message repeats an invite.
        """
        parts = _split(url)
        path = _PATH.fullmatch(parts.path)
        plain = (
            not parts.query and "@" not in parts.netloc and hide_tokens(parts.path) == parts.path
        )
        server = _server(parts)
        if path is None or server is None or not plain:
            raise ParameterError(f"the link must be like {_EXAMPLE}; got {_shown(url)}")
        if not is_protected(server):
            raise ParameterError(
                f"the link {_shown(url)} goes through the network without encryption: ask for one "
                "that begins with https://"
            )
        return cls(
            server=f"{server}{path['prefix']}",
            campaign=path["campaign"],
            invite=_invite(parts, invite),
        )


def _split(url: Any) -> SplitResult:
    if not isinstance(url, str):
        raise ParameterError(f"the link must be a text like {_EXAMPLE}; got {type(url).__name__}")
    try:
        parts = urlsplit(url.strip())
        _ = parts.port
    except ValueError:
        raise ParameterError(f"the link must be like {_EXAMPLE}; got {_shown(url)}") from None
    return parts


def _server(parts: SplitResult) -> str | None:
    """Return the address of a link's server; None where it has none."""
    try:
        return spell_server(parts)
    except ValueError:
        return None


def _shown(url: str) -> str:
    """Return a link for messages: nothing of what may be secret."""
    return repr(hide_tokens(without_user(url.partition("#")[0])))


def _invite(parts: SplitResult, given: str | None) -> str | None:
    """Return the one invite of a link and a parameter, if there is one."""
    if parts.fragment and not parts.fragment.startswith("i="):
        raise ParameterError("what follows # in the link must be i= and an invite: copy it whole")
    invites = {one for one in (parts.fragment.removeprefix("i="), given) if one}
    if len(invites) > 1:
        raise ParameterError("the link has another invite than the one that is given: give one")
    for invite in invites:
        if not has_prefix(str(invite), "qci_"):
            raise ParameterError("an invite is qci_ and 43 letters or digits: copy it whole")
        return invite
    return None
