"""Link to a campaign on a server, with an invite in its fragment."""

from __future__ import annotations

import re
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

_PATH = re.compile(
    r"(?P<prefix>(?:/(?!\.\.?/)[A-Za-z0-9._~-]+)*)/j/(?P<campaign>[0-9a-f]{32})/?", re.ASCII
)
"""Segments like ``/../`` do not match: they would be a second way to write a link."""
_EXAMPLE = "https://example.org/j/0123456789abcdef0123456789abcdef#i=qci_..."


@frozen(kw_only=True)
class CampaignLink:
    """Campaign, by id, on a server with a canonical address, with an optional invite."""

    server: str
    campaign: str
    invite: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Canonical link without its invite."""
        path = urlsplit(self.server).path
        return f"{self.origin}{path}/j/{self.campaign}"

    @property
    def origin(self) -> str:
        """Server without a path, see `origin_of`: all paths of a server may have one owner."""
        return origin_of(self.server)

    @property
    def local(self) -> bool:
        """Whether the server is this machine, addressed without HTTPS."""
        return self.server.startswith("http:")

    @classmethod
    def read(cls, url: str, invite: str | None = None) -> CampaignLink:
        """Parse a link, or raise ParameterError, which repeats no invite; see `spell_server`."""
        if not isinstance(url, str):
            raise ParameterError(
                "campaign.link-not-text", example=_EXAMPLE, type_name=type(url).__name__
            )
        shown = repr(hide_tokens(without_user(url.partition("#")[0])))
        try:
            parts = urlsplit(url.strip())
            server = spell_server(parts)
        except ValueError:
            raise ParameterError("campaign.link-invalid", example=_EXAMPLE, shown=shown) from None
        path = _PATH.fullmatch(parts.path)
        strange = parts.query or "@" in parts.netloc or hide_tokens(parts.path) != parts.path
        if path is None or strange:
            raise ParameterError("campaign.link-invalid", example=_EXAMPLE, shown=shown)
        if not is_protected(server):
            raise ParameterError("campaign.link-not-encrypted", shown=shown)
        return cls(
            server=f"{server}{path['prefix']}",
            campaign=path["campaign"],
            invite=_invite(parts, invite),
        )


def _invite(parts: SplitResult, given: str | None) -> str | None:
    if parts.fragment and not parts.fragment.startswith("i="):
        raise ParameterError("campaign.link-invite-invalid")
    invites = {one for one in (parts.fragment.removeprefix("i="), given) if one}
    if len(invites) > 1:
        raise ParameterError("campaign.link-invite-differs")
    for invite in invites:
        if not has_prefix(str(invite), "qci_"):
            raise ParameterError("campaign.invite-invalid")
        return invite
    return None
