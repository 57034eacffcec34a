"""Addresses of servers in normal form, by which a device stores reports, and links to campaigns."""

from __future__ import annotations

import ipaddress
import re
import socket
from urllib.parse import SplitResult, urlsplit

from attrs import field, frozen

from quietcrowd.campaign.terms.tokens import has_prefix, hide_tokens
from quietcrowd.exceptions import ParameterError

_USER = re.compile(r"//[^/]*@")
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", re.ASCII)
_NUMERIC = re.compile(r"([0-9a-z.-]*\.)?([0-9]+|0x[0-9a-f]*)", re.ASCII)
_USUAL_PORTS = {"https": 443, "http": 80}
_HERE = "localhost"
_HOST = re.compile(r"[A-Za-z0-9._-]+(:[0-9]{1,5})?", re.ASCII)
_IN_PAGE = re.compile(r"https?://[a-z0-9._-]+(:[0-9]+)?(/[A-Za-z0-9._~-]+)*", re.ASCII)


def spell_server(parts: SplitResult) -> str:
    """Return the normal form of a server's address, without a path, or raise `ValueError`.

    The host is in lower case, in ASCII (IDNA), without a final dot. An IP address has its shortest
    form, and the default port is omitted.
    """
    host, port = _spell_host(parts.hostname or ""), parts.port
    shown = f"[{host}]" if ":" in host else host
    usual = port is None or port == _USUAL_PORTS.get(parts.scheme)
    return f"{parts.scheme}://{shown}{'' if usual else f':{port}'}"


def origin_of(server: str) -> str:
    """Return a server's origin, without a path; all names of this machine have the same."""
    parts = urlsplit(server)
    if not is_here(parts.hostname or ""):
        return f"{parts.scheme}://{parts.netloc}"
    return f"{parts.scheme}://{_HERE}{'' if parts.port is None else f':{parts.port}'}"


def is_protected(server: str) -> bool:
    """Return whether the connection is encrypted or stays on this machine."""
    parts = urlsplit(server)
    return parts.scheme == "https" or (parts.scheme == "http" and is_here(parts.hostname or ""))


def without_user(url: str) -> str:
    """Remove user information, which may contain a password, from a URL for messages."""
    return _USER.sub("//...@", url)


def _spell_host(host: str) -> str:
    if ":" in host:
        address = ipaddress.IPv6Address(host)
        plain = address.ipv4_mapped or address
        if address.scope_id is not None or plain.is_unspecified:
            raise ValueError("no address of one server")
        return str(plain)
    if not host.isascii():  # as httpx does, of which idna is a dependency
        import idna

        host = idna.encode(host.removesuffix("."), uts46=True).decode()
    name = host.lower().removesuffix(".")
    if not _NAME.fullmatch(name):
        raise ValueError("no name of a host")
    if not _NUMERIC.fullmatch(name):
        return name
    try:
        number = socket.inet_aton(name)  # accepts forms such as 127.1 and 2130706433
    except OSError:
        raise ValueError("no address of a host") from None
    if not any(number):
        raise ValueError("no address of one server")
    return socket.inet_ntoa(number)


def is_here(host: str) -> bool:
    """Return whether a host is this machine, judging only by its name."""
    if host == _HERE:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@frozen(kw_only=True)
class ServerAddress:
    """The address of a server, such as ``https://example.org``, without a final slash."""

    url: str

    @property
    def local(self) -> bool:
        """Whether the server is on this machine, and used without HTTPS."""
        return self.url.startswith("http:")

    @classmethod
    def read(cls, text: str) -> ServerAddress:
        """Parse an address, or raise `ParameterError` if it is invalid or not encrypted."""
        shown = repr(without_user(re.split("[?#]", text, maxsplit=1)[0]))
        try:
            parts = urlsplit(text.strip())
            server = spell_server(parts)
            plain = "@" not in parts.netloc and parts.port != 0
        except ValueError:
            plain = False
        if not plain or parts.query or parts.fragment or parts.scheme not in ("http", "https"):
            raise ParameterError("campaign.server-address-invalid", shown=shown)
        if not is_protected(server):
            raise ParameterError("campaign.server-not-encrypted", shown=shown)
        return cls(url=f"{server}{parts.path.rstrip('/')}")


def address_in_page(text: str) -> str:
    """Return the normal form of an address for a page and its policy, or raise `ParameterError`."""
    address = ServerAddress.read(text).url
    if _IN_PAGE.fullmatch(address) is None:
        raise ParameterError("campaign.page-address-invalid", address=address)
    return address


def address_of_host(host: str) -> str:
    """Return the address from a ``Host`` header: with HTTPS, as devices require, except here."""
    if _HOST.fullmatch(host) is None:
        raise ParameterError("campaign.server-name-invalid")
    scheme = "http" if is_here(host.partition(":")[0].lower()) else "https"
    return address_in_page(f"{scheme}://{host}")


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
