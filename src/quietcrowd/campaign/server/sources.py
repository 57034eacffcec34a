"""Where connections come from: an address is known by a hash, whose salt is soon another one.

This machine is no source: a server with HTTPS before this one passes on what comes from anywhere.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import time

from attrs import define, field

__all__ = ["Sources"]

_EVERY = 3600.0
"""Seconds after which hashes of addresses are others."""

_NETWORK = 64
"""Bits of an IPv6 address that say whose it is; the others are its owner's to choose."""


@define(kw_only=True)
class Sources:
    """Tells sources apart, for an hour, without keeping an address."""

    _salt: bytes = field(factory=lambda: secrets.token_bytes(16), init=False, repr=False)
    _until: float = field(factory=lambda: time.monotonic() + _EVERY, init=False)

    def of(self, address: str | None, now: float | None = None) -> bytes | None:
        """Return what stands for a source; None for this machine, and where there is no address.

        Parameters
        ----------
        address : str, optional
            Of the other side of a connection.
        now : float, optional
            Seconds of a clock that does not go back; default: the machine's.
        """
        network = _network(address)
        if network is None:
            return None
        moment = time.monotonic() if now is None else now
        if moment >= self._until:
            self._salt, self._until = secrets.token_bytes(16), moment + _EVERY
        return hashlib.blake2b(network, key=self._salt, digest_size=16).digest()


def _network(address: str | None) -> bytes | None:
    """Return the bytes of an address that say whose it is; None for this machine, or no address."""
    try:
        found = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address):
        found = found.ipv4_mapped or found
    if found.is_loopback:
        return None
    return found.packed[: _NETWORK // 8] if found.version == 6 else found.packed
