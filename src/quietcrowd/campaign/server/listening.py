"""Where a server listens, and how many connections it can have: each is an open file."""

from __future__ import annotations

import socket
import sys
from typing import Any

from typing_extensions import override

from quietcrowd.campaign.server.connection_limits import OpenConnections
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.terms.server_address import is_here
from quietcrowd.campaign.terms.settings import place_of
from quietcrowd.exceptions import ParameterError

__all__ = ["AT_A_TIME", "Listener", "connections_within", "file_limit", "listener"]

AT_A_TIME = 16
"""Connections that are taken from the queue before any of them is looked at."""

_QUEUE = 1_024
"""Connections that the system keeps until they are taken."""

_OWN_FILES = 64
"""Open files that the process needs anyway: its log, what it listens on, the database's lock, where
it is kept who left, pipes to the process that infers, the event loop, modules that are read; and
some more."""

_FEWEST, _MOST = 8, 2_048


def connections_within(wanted: int | None, database_files: int) -> int:
    """Return how many connections a server may have: as many as wanted, or as files allow.

    Parameters
    ----------
    wanted : int or None
        None for as many as can be, and at most 2,048.
    database_files : int
        Open files that the database takes at most.

    Raises
    ------
    ParameterError
        Where the process may not have so many files open.
    """
    limit = file_limit()
    if limit is None:
        return wanted or _MOST
    room = limit - _OWN_FILES - database_files - 2 * AT_A_TIME
    if room < (wanted or _FEWEST):
        needed = limit - room + (wanted or _FEWEST)
        raise ParameterError(
            f"this process may have {limit:,} files open, and {wanted or _FEWEST:,} connections "
            f"need {needed:,}: raise the limit, as with ulimit -n {needed}"
        )
    return wanted or min(room, _MOST)


def file_limit() -> int | None:
    """Return how many files this process may have open; None for any number."""
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


class _Taken(socket.socket):
    """A connection that counts until it is closed."""

    among: set[_Taken]

    @override
    def close(self) -> None:
        self.among.discard(self)
        super().close()


class Listener(socket.socket):
    """A socket that listens, and gives no more connections than there may be."""

    door: OpenConnections | None = None
    _taken: set[_Taken]

    @override
    def listen(self, backlog: int = _QUEUE, /) -> None:
        """Listen; whoever is to take few at a time does not shorten the queue by that."""
        super().listen(max(backlog, _QUEUE))

    @override
    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection; those of sources that ask too often are closed.

        Where there are too many, it stays in the queue for the moment in which others end.
        """
        for _ in range(AT_A_TIME):
            if self.door is not None and len(self._taken) >= self.door.most + AT_A_TIME:
                break
            given, address = super().accept()
            if self.door is None or self.door.may_come(_host_in(address)):
                taken = _Taken(given.family, given.type, given.proto, fileno=given.detach())
                taken.among = self._taken
                self._taken.add(taken)
                return taken, address
            given.close()
        raise BlockingIOError


def _host_in(address: Any) -> str | None:
    return address[0] if isinstance(address, tuple) and address else None


def listener(settings: Settings) -> Listener:
    """Return a socket that listens where a server is to.

    Raises
    ------
    ParameterError
        Where nobody can listen there; and where others on the way could read along, unless the
        settings say that this is meant.
    """
    if not (settings.insecure or is_here(settings.host)):
        raise ParameterError(
            f"{settings.host} is not this machine alone, and this server speaks without "
            "encryption: put a server with HTTPS before it and listen on 127.0.0.1; or, where "
            "nobody else is on the network between the two, add --insecure"
        )
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        plain = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        raise ParameterError(
            f"cannot listen on {place_of(settings.host, settings.port)}: {error.strerror}; take "
            "another port"
        ) from None
    found = Listener(plain.family, plain.type, plain.proto, fileno=plain.detach())
    found._taken = set()
    # asyncio does so only where a socket names its protocol: an answer is two packets, and the
    # second would wait 40 ms for the first to be confirmed
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found
