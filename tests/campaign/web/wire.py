"""Between a browser and a server: sees every byte that leaves, and may lose or change answers."""

import http.client
import re
import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from attrs import Factory, define, frozen
from tests.campaign.waiting import LONG

HOPS = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "content-length"}
"""Headers of one connection, and not of what is said over it."""


@frozen
class Sent:
    """A request, as it left the browser."""

    method: str
    url: str
    head: bytes
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    @property
    def origin(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def everything(self) -> bytes:
        return self.head + self.body

    def fits(self, pattern: str) -> bool:
        return re.search(pattern, f"{self.method} {self.path}") is not None


Change = Callable[[bytes, dict[str, str]], bytes]


@define
class Wire:
    """A proxy of a browser; who holds it says what becomes of answers.

    Attributes
    ----------
    url : str
        Its own address, for the browser's settings.
    sent : list of Sent
        All requests, in the order in which they came in.
    cut : bool
        Whether nothing goes through.
    losses : dict of str to int
        How many answers to requests, by a pattern of a method and a path as in ``POST /a/b``, are
        still to be lost: the server has taken the request in by then.
    changes : dict of str to callable
        What becomes of an answer, by a pattern likewise: takes its body and its headers, which it
        may change; ``:status`` among them is that of the answer.
    afterwards : dict of str to callable
        What is done between the server's answer and the browser's receiving it, likewise.
    """

    url: str = ""
    sent: list[Sent] = Factory(list)
    cut: bool = False
    losses: dict[str, int] = Factory(dict)
    changes: dict[str, Change] = Factory(dict)
    afterwards: dict[str, Callable[[], None]] = Factory(dict)

    def of(self, ending: str, method: str = "POST") -> list[Sent]:
        """Return the requests on paths that end so."""
        return [one for one in self.sent if one.method == method and one.path.endswith(ending)]

    @property
    def uploads(self) -> list[bytes]:
        """The bodies of all requests that brought reports."""
        return [one.body for one in self.of("/me/reports")]

    def loses(self, sent: Sent) -> bool:
        """Return whether the answer to a request is to be lost now."""
        for pattern, left in self.losses.items():
            if sent.fits(pattern) and left:
                self.losses[pattern] -= 1
                return True
        return False


class Recorder:
    """A stream whose bytes are kept as they are read."""

    def __init__(self, stream):
        self.stream = stream
        self.read_so_far = b""

    def readline(self, limit=-1):
        line = self.stream.readline(limit)
        self.read_so_far += line
        return line

    def read(self, count):
        return self.stream.read(count)

    def close(self):
        self.stream.close()

    @property
    def closed(self):
        return self.stream.closed


def _handler(wire):
    class Handler(BaseHTTPRequestHandler):
        """One connection of the browser, with one request."""

        def setup(self):
            super().setup()
            self.rfile = Recorder(self.rfile)

        def log_message(self, *_):
            pass

        def _forward(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            sent = Sent(self.command, self.path, self.rfile.read_so_far, body)
            wire.sent.append(sent)
            self.close_connection = True
            if wire.cut:
                return
            status, headers, content = _asked(sent, self.headers)
            for pattern, act in list(wire.afterwards.items()):
                if sent.fits(pattern):
                    act()
            if wire.cut or wire.loses(sent):
                return
            for pattern, change in wire.changes.items():
                if sent.fits(pattern):
                    content = change(content, headers)
            self._answer(int(headers.pop(":status", status)), headers, content)

        def _answer(self, status, headers, content):
            with suppress(ConnectionError):
                self.send_response_only(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(content)

        def __getattr__(self, name):
            """Return what is done with a request, whichever method it has."""
            if name.startswith("do_"):
                return self._refuse if name == "do_CONNECT" else self._forward
            raise AttributeError(name)

        def _refuse(self):
            """Note what nobody should ask for, and refuse it."""
            wire.sent.append(Sent("CONNECT", f"https://{self.path}", self.rfile.read_so_far, b""))
            self.close_connection = True

    return Handler


def _asked(sent, headers):
    """Return what the server answers: status, headers, body."""
    parts = urlsplit(sent.url)
    left_out = {*HOPS, "accept-encoding"}  # changes are to what is not compressed
    asked = {name: value for name, value in headers.items() if name.lower() not in left_out}
    if sent.body:
        asked["Content-Length"] = str(len(sent.body))
    connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=LONG)
    try:
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(sent.method, target, sent.body or None, asked)
        answer = connection.getresponse()
        kept = {name: value for name, value in answer.getheaders() if name.lower() not in HOPS}
        return answer.status, kept, answer.read()
    finally:
        connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Say nothing where a browser has gone, or a server has."""


@contextmanager
def wire():
    """Give a wire that is open; `context(browser, wire)` of a browser goes through it."""
    opened = Wire()
    server = _Server(("127.0.0.1", 0), _handler(opened))
    opened.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield opened
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
