"""Addresses of servers: a network is crossed with HTTPS alone, and one server has one name.

A device knows a server by its address: what it sent there before, and which noise it drew for that.
A second spelling of an address must not be a second server. So a host is written in lower case, in
ASCII (IDNA), without a dot at its end, an IP address in its shortest form, and a port only where it
is not the usual one. All names of this machine are one origin.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from urllib.parse import SplitResult, urlsplit

from attrs import frozen

from quietcrowd.exceptions import ParameterError

__all__ = [
    "ServerAddress",
    "address_in_page",
    "address_of_host",
    "is_here",
    "is_protected",
    "origin_of",
    "spell_server",
    "without_user",
]

_USER = re.compile(r"//[^/]*@")
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", re.ASCII)
_NUMERIC = re.compile(r"([0-9a-z.-]*\.)?([0-9]+|0x[0-9a-f]*)", re.ASCII)
_USUAL_PORTS = {"https": 443, "http": 80}
_HERE = "localhost"
_HOST = re.compile(r"[A-Za-z0-9._-]+(:[0-9]{1,5})?", re.ASCII)
_IN_PAGE = re.compile(r"https?://[a-z0-9._-]+(:[0-9]+)?(/[A-Za-z0-9._~-]+)*", re.ASCII)


def spell_server(parts: SplitResult) -> str:
    """Return the one spelling of a server's address, without a path: where requests go.

    Raises
    ------
    ValueError
        Where the host or the port is not valid.
    """
    host, port = _spell_host(parts.hostname or ""), parts.port
    shown = f"[{host}]" if ":" in host else host
    usual = port is None or port == _USUAL_PORTS.get(parts.scheme)
    return f"{parts.scheme}://{shown}{'' if usual else f':{port}'}"


def origin_of(server: str) -> str:
    """Return what a device knows a server by: its address, of which this machine has one alone.

    Parameters
    ----------
    server : str
        As `spell_server` gives it; what follows as a path is left out.
    """
    parts = urlsplit(server)
    if not is_here(parts.hostname or ""):
        return f"{parts.scheme}://{parts.netloc}"
    return f"{parts.scheme}://{_HERE}{'' if parts.port is None else f':{parts.port}'}"


def is_protected(server: str) -> bool:
    """Return whether nobody on the way reads what is sent: HTTPS, or this machine."""
    parts = urlsplit(server)
    return parts.scheme == "https" or (parts.scheme == "http" and is_here(parts.hostname or ""))


def without_user(url: str) -> str:
    """Return an address for messages: without who asks, which may hold a password."""
    return _USER.sub("//...@", url)


def _spell_host(host: str) -> str:
    """Return the one spelling of a host; ValueError where it is not valid."""
    if ":" in host:
        address = ipaddress.IPv6Address(host)
        plain = address.ipv4_mapped or address
        if address.scope_id is not None or plain.is_unspecified:
            raise ValueError("no address of one server")
        return str(plain)
    name = (host if host.isascii() else _in_ascii(host)).lower().removesuffix(".")
    if not _NAME.fullmatch(name):
        raise ValueError("no name of a host")
    if not _NUMERIC.fullmatch(name):
        return name
    try:
        number = socket.inet_aton(name)  # 127.1 and 2130706433 are addresses, too
    except OSError:
        raise ValueError("no address of a host") from None
    if not any(number):
        raise ValueError("no address of one server")
    return socket.inet_ntoa(number)


def _in_ascii(host: str) -> str:
    """Return the name that is looked up for a host with other letters, as httpx does."""
    import idna  # comes with httpx, without which nothing is asked

    return idna.encode(host.removesuffix("."), uts46=True).decode()


def is_here(host: str) -> bool:
    """Return whether a host is this machine, by its name alone."""
    if host == _HERE:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@frozen(kw_only=True)
class ServerAddress:
    """Where a requester's server is.

    Attributes
    ----------
    url : str
        As ``https://example.org``, without a slash at the end.
    """

    url: str

    @property
    def local(self) -> bool:
        """Whether the server is this machine, spoken to without HTTPS."""
        return self.url.startswith("http:")

    @classmethod
    def read(cls, text: str) -> ServerAddress:
        """Return the address that a text is.

        Raises
        ------
        ParameterError
            Where it is not valid, or a key would go through a network without HTTPS.
        """
        shown = repr(without_user(re.split("[?#]", text, maxsplit=1)[0]))
        try:
            parts = urlsplit(text.strip())
            server = spell_server(parts)
            plain = "@" not in parts.netloc and parts.port != 0
        except ValueError:
            plain = False
        if not plain or parts.query or parts.fragment or parts.scheme not in ("http", "https"):
            raise ParameterError(
                "the server must be like https://example.org, with nothing behind ? or #; got "
                f"{shown}"
            )
        if not is_protected(server):
            raise ParameterError(
                f"the server {shown} would be shown the key without encryption: "
                "give an address that begins with https://"
            )
        return cls(url=f"{server}{parts.path.rstrip('/')}")


def address_in_page(text: str) -> str:
    """Return the one spelling of a server's address that can stand in a page and in its policy.

    Parameters
    ----------
    text : str
        As ``https://example.org`` or ``https://example.org/below``.

    Raises
    ------
    ParameterError
        As of `ServerAddress.read`; and where the host has no name or the path other marks.
    """
    address = ServerAddress.read(text).url
    if _IN_PAGE.fullmatch(address) is None:
        raise ParameterError(
            "the address of a server in a page has a name, or four numbers, and a path of letters, "
            f"digits and -._~ alone; got {address!r}"
        )
    return address


def address_of_host(host: str) -> str:
    """Return the address of a server by what a request names as its ``Host``.

    Whoever is asked through a network is asked with HTTPS, since devices speak nothing else.

    Raises
    ------
    ParameterError
        Where the host is not valid.
    """
    if _HOST.fullmatch(host) is None:
        raise ParameterError("the server is asked under a name that is not valid")
    scheme = "http" if is_here(host.partition(":")[0].lower()) else "https"
    return address_in_page(f"{scheme}://{host}")
