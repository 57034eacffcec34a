"""Where one may listen."""

import secrets
import socket


def free_port() -> int:
    """Return a port of this machine, below those that it gives to who connects.

    A client that tries again and again to reach a port of those, while nobody listens, may end up
    connected to itself, and whoever wants to listen there again cannot.
    """
    while True:
        port = 20_000 + secrets.randbelow(10_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def has_ipv6() -> bool:
    """Return whether this machine can be reached from itself by IPv6."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False
