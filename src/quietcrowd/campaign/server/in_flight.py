"""How much is worked on at once, in all and for one key: what comes beyond that is refused."""

from __future__ import annotations

from collections import Counter

from attrs import define, field

__all__ = ["InFlight"]


@define(kw_only=True)
class InFlight:
    """Requests that are worked on, in one event loop, until their answers are taken.

    Attributes
    ----------
    requests : int
        Most of them at once.
    size : int
        Most bytes of their bodies at once.
    each : int
        Most of them at once of one key or credential, so that nobody who takes answers slowly
        keeps the others from being served.
    """

    requests: int
    size: int
    each: int
    _requests: int = field(default=0, init=False)
    _size: int = field(default=0, init=False)
    _of: Counter[bytes] = field(factory=Counter, init=False)

    def has_room(self, size: int) -> bool:
        """Return whether one more request may be worked on.

        Parameters
        ----------
        size : int
            Bytes of its body.
        """
        return self._requests < self.requests and self._size + size <= self.size

    def has_share(self, credential: bytes | None) -> bool:
        """Return whether one more request with this key or credential, if any, may be worked on."""
        return credential is None or self._of[credential] < self.each

    def enter(self, size: int, credential: bytes | None) -> None:
        """Count a request."""
        self._requests += 1
        self._size += size
        if credential is not None:
            self._of[credential] += 1

    def leave(self, size: int, credential: bytes | None) -> None:
        """Count a request no more."""
        self._requests -= 1
        self._size -= size
        if credential is not None:
            self._of[credential] -= 1
            if not self._of[credential]:
                del self._of[credential]
