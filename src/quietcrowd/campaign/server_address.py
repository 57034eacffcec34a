"""Addresses of servers: what goes through a network goes through HTTPS."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from attrs import frozen

from quietcrowd.exceptions import ParameterError

__all__ = ["ServerAddress", "is_protected", "without_user"]

_USER = re.compile(r"//[^/]*@")


def is_protected(parts: SplitResult) -> bool:
    """Return whether nobody on the way reads what is sent: HTTPS, or this machine."""
    return parts.scheme == "https" or (parts.scheme == "http" and _is_here(parts.hostname))


def without_user(url: str) -> str:
    """Return an address for messages: without who asks, which may hold a password."""
    return _USER.sub("//...@", url)


def _is_here(host: str | None) -> bool:
    """Return whether a host is this machine, by its name alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
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
            Where it is none, or a key would go through a network without HTTPS.
        """
        shown = repr(without_user(re.split("[?#]", text, maxsplit=1)[0]))
        try:
            parts = urlsplit(text.strip())
            plain = bool(parts.hostname) and "@" not in parts.netloc and parts.port != 0
        except ValueError:
            plain = False
        if not plain or parts.query or parts.fragment or parts.scheme not in ("http", "https"):
            raise ParameterError(
                "the server must be like https://example.org, with nothing behind ? or #; got "
                f"{shown}"
            )
        if not is_protected(parts):
            raise ParameterError(
                f"the server {shown} would be shown the key without encryption: "
                "give an address that begins with https://"
            )
        return cls(url=f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}")
