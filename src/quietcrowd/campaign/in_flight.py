"""How much is worked on at once: what comes beyond that is refused."""

from __future__ import annotations

from attrs import define, field

__all__ = ["InFlight"]


@define(kw_only=True)
class InFlight:
    """Requests that are worked on, in one event loop.

    Attributes
    ----------
    requests : int
        Most of them at once.
    size : int
        Most bytes of their bodies at once.
    """

    requests: int
    size: int
    _requests: int = field(default=0, init=False)
    _size: int = field(default=0, init=False)

    def has_room(self, size: int) -> bool:
        """Return whether one more request may be worked on.

        Parameters
        ----------
        size : int
            Bytes of its body.
        """
        return self._requests < self.requests and self._size + size <= self.size

    def enter(self, size: int) -> bool:
        """Return whether one more request of this size may be worked on, and count it."""
        if not self.has_room(size):
            return False
        self._requests += 1
        self._size += size
        return True

    def leave(self, size: int) -> None:
        """Count a request of this size no more."""
        self._requests -= 1
        self._size -= size
