"""Send what nobody asked for, from a process of its own.

Usage: python -m tests.campaign.flood KIND PORT COUNT [TOKEN ...]

It keeps so many connections busy until its standard input ends. It prints "flooding" once it has
opened as many, and taken ten pieces of an answer on each that is slow; the last line counts answers
by status.
"""

import asyncio
import json
import os
import secrets
import sys
from collections import Counter

from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.campaign.terms.tokens import new_token, participant_id

PATH = "/api/v1/me/reports"


def reports() -> bytes:
    """Return an upload that is well formed, as large as one may be: 0.6 MB."""
    items = [
        {"report_id": f"{place:032x}", "task_id": "1" * 32, "value": 1, "bit": 1}
        for place in range(MAX_REPORTS)
    ]
    return json.dumps({"config_hash": "0" * 64, "reports": items}).encode()


def head(method: str, path: str, *, token: str | None = None, length: int | None = None) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: here"]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    if length is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


class Flood:
    """Connections that all do the same."""

    def __init__(self, kind: str, port: int, count: int, tokens: list[str]) -> None:
        self.send = {
            "idle": self.idle,
            "trickle": self.trickle,
            "unknown": self.unknown,
            "hasty": self.hasty,
            "withdrawn": self.withdrawn,
            "anonymous": self.anonymous,
            "pipelined": self.pipelined,
            "join": self.join,
            "slow": self.slow,
            "halves": self.halves,
        }[kind]
        self.port, self.count, self.tokens = port, count, tokens
        self.left = 10 * count if kind == "slow" else count
        self.answers: Counter = Counter()
        self.body = reports()

    async def run(self) -> None:
        tasks = [asyncio.ensure_future(self._one()) for _ in range(self.count)]
        await asyncio.to_thread(sys.stdin.read)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def count_down(self) -> None:
        self.left -= 1
        if self.left == 0:
            print("flooding", flush=True)

    async def _one(self) -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                if self.send != self.slow:
                    self.count_down()
                try:
                    await self.send(reader, writer)
                finally:
                    writer.transport.abort()
            except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
                self.answers["broken"] += 1
                await asyncio.sleep(0.001)

    async def answer(self, reader: asyncio.StreamReader) -> bool:
        """Read an answer; return whether the connection stays."""
        found = (await reader.readuntil(b"\r\n\r\n")).lower()
        self.answers[found[9:12].decode()] += 1
        length = found.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length or 0))
        return b"\r\nconnection: close" not in found

    async def keep(self, reader, writer, request) -> None:
        """Ask again and again on one connection."""
        going = True
        while going:
            writer.write(request())
            await writer.drain()
            going = await self.answer(reader)

    async def idle(self, reader, _) -> None:
        await reader.read()
        self.answers["ended"] += 1

    async def trickle(self, _, writer) -> None:
        for byte in head("GET", "/api/v1/healthz")[:-1]:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(1)

    async def halves(self, reader, writer) -> None:
        """Send half of a body, and no more."""
        writer.write(head("POST", PATH, token=new_token("qcw_"), length=len(self.body)))
        writer.write(self.body[: len(self.body) // 2])
        await reader.read()
        self.answers["ended"] += 1

    async def unknown(self, reader, writer) -> None:
        def request() -> bytes:
            return head("POST", PATH, token=new_token("qcw_"), length=len(self.body)) + self.body

        await self.keep(reader, writer, request)

    async def hasty(self, _, writer) -> None:
        """Send, and go away before there is an answer."""
        writer.write(head("POST", PATH, token=new_token("qcw_"), length=2) + b"{}")
        await writer.drain()
        self.answers["left"] += 1

    async def withdrawn(self, reader, writer) -> None:
        def request() -> bytes:
            token = secrets.choice(self.tokens)
            return head("POST", PATH, token=token, length=len(self.body)) + self.body

        await self.keep(reader, writer, request)

    async def anonymous(self, reader, writer) -> None:
        await self.keep(
            reader, writer, lambda: head("GET", f"/api/v1/public/campaigns/{self.tokens[0]}")
        )

    async def pipelined(self, reader, writer) -> None:
        request = head("GET", "/api/v1/me", token=new_token("qcw_"))
        await self.keep(reader, writer, lambda: request * 50)

    async def slow(self, reader, writer) -> None:
        """Take an answer slowly: a path, and whose key."""
        path, key = self.tokens
        writer.transport.pause_reading()
        writer.write(head("GET", path, token=key))
        while True:
            writer.transport.resume_reading()
            found = await reader.read(1_024)
            self.count_down()
            writer.transport.pause_reading()
            if found.startswith(b"HTTP/1.1 "):
                self.answers[found[9:12].decode()] += 1
            await asyncio.sleep(0.2)
            if not found or (b"HTTP/1.1 " in found and b"HTTP/1.1 200" not in found):
                return

    async def join(self, reader, writer) -> None:
        """Try invites, each as somebody new."""
        campaign, config_hash = self.tokens  # where it is open to all, none is needed

        def request() -> bytes:
            body = {"config_hash": config_hash, "invite": new_token("qci_")}
            text = json.dumps(body).encode()
            token = new_token("qcw_")
            path = f"/api/v1/public/campaigns/{campaign}/participants/{participant_id(token).hex()}"
            return head("PUT", path, token=token, length=len(text)) + text

        await self.keep(reader, writer, request)


def main() -> None:
    kind, port, count, *tokens = sys.argv[1:]
    os.nice(19)  # whoever floods has a machine of their own: its work is not what is measured
    flood = Flood(kind, int(port), int(count), tokens)
    asyncio.run(flood.run())
    print(json.dumps(flood.answers), flush=True)


if __name__ == "__main__":
    main()
