"""A server of the version that is installed, as a process, and the wire to it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from attrs import define, field
from tests.campaign.waiting import LONG, in_time
from tests.programs import QUIETCROWD, finished, running

ORIGIN = "https://crowd.example"
"""Where devices think that the server is, whatever port it has."""

_PLACE = re.compile(r"http://127\.0\.0\.1:\d+")


def command(*words: object) -> str:
    """Return what a command prints."""
    return finished(*QUIETCROWD, *words, check=True).output


@contextmanager
def served(database: Path, *options: str) -> Iterator[str]:
    """Give the address of a server of a database, for as long as a block lasts."""
    words = ["serve", "--port", "0", "--database", f"sqlite:///{database}", *options]
    with running(*QUIETCROWD, *words) as server:
        [line] = server.until("http://127.0.0.1:", errors=True)[-1:]
        address = _PLACE.search(line).group()
        assert in_time(lambda: _is_ready(address))
        yield address
        server.process.terminate()
        server.finished()


def _is_ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/api/v1/readyz", verify=False, timeout=LONG).is_success
    except httpx.TransportError:
        return False


@define
class Wire(httpx.BaseTransport):
    """The wire from a device to a server; it keeps what is posted, and may lose it."""

    address: str
    losing: bool = False
    posted: list[bytes] = field(factory=list, init=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        content = request.read()
        if request.method == "POST":
            self.posted.append(content)
            if self.losing:
                raise httpx.ConnectError("lost")
        headers = {name: one for name, one in request.headers.items() if name != "host"}
        url = f"{self.address}{request.url.raw_path.decode()}"
        with httpx.Client(verify=False, timeout=LONG) as client:
            answer = client.request(request.method, url, headers=headers, content=content)
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


def requester(address: str, key: str) -> httpx.Client:
    """Return a requester's way to a server."""
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=f"{address}/api/v1", headers=headers, verify=False, timeout=LONG)
