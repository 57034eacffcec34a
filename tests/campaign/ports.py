"""Where one may listen."""

import os
import secrets
import socket

_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
"""The number of this process among those that share the tests."""

_PORTS, _SHARE = range(20_000, 30_000), 500


def free_port() -> int:
    """Return a port of this machine, below those that it gives to who connects.

    A client that tries again and again to reach a port of those, while nobody listens, may end up
    connected to itself, and whoever wants to listen there again cannot. Processes that share the
    tests take from different ports: until a server listens, nobody sees that its port is taken.
    """
    own = _PORTS[_WORKER * _SHARE % len(_PORTS) :][:_SHARE]
    while True:
        port = secrets.choice(own)
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
