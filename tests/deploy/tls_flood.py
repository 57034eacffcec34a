"""Connections from one address of this machine that keep a proxy busy, from a process of its own.

Usage: python -m tests.deploy.tls_flood KIND NAME PORT COUNT ADDRESS

It prints "flooding" once half of the connections are open, or each could have been rejected, and
continues until it is killed.
"""

import asyncio
import resource
import ssl
import sys
from collections import Counter


class Flood:
    """Connections that all do the same, from one address."""

    def __init__(self, kind: str, name: str, port: int, count: int, address: str) -> None:
        self.act = {"idle": self.idle, "trickle": self.trickle, "hasty": self.hasty}[kind]
        self.kind, self.name, self.port = kind, name, port
        self.count, self.address = count, address
        self.request = f"GET /api/v1/readyz HTTP/1.1\r\nHost: {name}\r\n\r\n".encode()
        self.trust = ssl.create_default_context()
        self.trust.check_hostname, self.trust.verify_mode = False, ssl.CERT_NONE
        self.answers: Counter[str] = Counter()
        self.open = 0
        self.told = False

    async def run(self) -> None:
        await asyncio.gather(*(self.one() for _ in range(self.count)))

    async def one(self) -> None:
        while True:
            try:
                await self.act()
            except (OSError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.1)

    def tell(self) -> None:
        """Print that the flood is there, once."""
        refused = self.answers["429"] >= self.count
        if not self.told and (refused if self.kind == "hasty" else self.open > self.count / 2):
            self.told = True
            print("flooding", flush=True)

    async def connected(self, trust: ssl.SSLContext | None):
        ends = await asyncio.open_connection(
            "127.0.0.1",
            self.port,
            ssl=trust,
            server_hostname=None if trust is None else self.name,
            local_addr=(self.address, 0),
        )
        self.open += 1
        self.tell()
        return ends

    def left(self, writer: asyncio.StreamWriter) -> None:
        self.open -= 1
        writer.transport.abort()

    async def idle(self) -> None:
        """Connect, and say nothing."""
        reader, writer = await self.connected(None)
        try:
            await reader.read(1)
        finally:
            self.left(writer)

    async def trickle(self) -> None:
        """Send the head of a request, a byte a second."""
        _, writer = await self.connected(self.trust)
        try:
            for byte in self.request:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(1)
        finally:
            self.left(writer)

    async def hasty(self) -> None:
        """Ask one thing after the other."""
        reader, writer = await self.connected(self.trust)
        try:
            while True:
                writer.write(self.request)
                head = await reader.readuntil(b"\r\n\r\n")
                status = head.split(b" ", 2)[1].decode()
                self.answers[status] += 1
                self.tell()
                lines = head.lower().split(b"\r\n")
                length = next(line for line in lines if line.startswith(b"content-length:"))
                await reader.readexactly(int(length.split(b":")[1]))
        finally:
            self.left(writer)


def main(kind: str, name: str, port: str, count: str, address: str) -> None:
    """Flood for ever."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 16_384), most))
    asyncio.run(Flood(kind, name, int(port), int(count), address).run())


if __name__ == "__main__":
    main(*sys.argv[1:])
