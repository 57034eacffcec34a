"""The listening socket, and how many connections the limit on open files allows."""

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
"""Connections accepted before any of them is processed."""

_QUEUE = 1_024
"""Connections that the system queues until they are accepted."""

_OWN_FILES = 64
"""Open files of the process itself, with a reserve: log, listener, lock of the database, journal of
withdrawals, pipes to the inference process, event loop, modules."""

_FEWEST, _MOST = 8, 2_048


def connections_within(wanted: int | None, database_files: int) -> int:
    """Return the maximum number of connections; raise ParameterError if open files are too limited.

    Without `wanted` it is at most 2,048.
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
    """Return the limit on open files of this process; None for no limit."""
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


class _Taken(socket.socket):
    """An accepted connection, which counts until it is closed."""

    among: set[_Taken]

    @override
    def close(self) -> None:
        self.among.discard(self)
        super().close()


class Listener(socket.socket):
    """A listening socket that limits the number of accepted connections."""

    door: OpenConnections | None = None
    _taken: set[_Taken]

    @override
    def listen(self, backlog: int = _QUEUE, /) -> None:
        """Ignore a shorter backlog: asyncio also uses it as the number of connections to accept."""
        super().listen(max(backlog, _QUEUE))

    @override
    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection of a source within its rate; none if the limit is reached."""
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
    """Create the listening socket; raise ParameterError if that is impossible or insecure."""
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
    # asyncio sets this only for sockets with an explicit protocol. A response is two packets: the
    # second would wait 40 ms for the acknowledgment of the first.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found
