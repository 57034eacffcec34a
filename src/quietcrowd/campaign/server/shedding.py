"""Refusing at the door: what is no HTTP, and what comes while too much is worked on.

To parse a request takes as long as all else that refusing takes: a server that parses first can
be kept from its work by those whom it refuses.
"""

from __future__ import annotations

import re

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.arrivals import BUSY, Arrivals
from quietcrowd.campaign.server.logs import log_request
from quietcrowd.campaign.server.middleware import HEADERS
from quietcrowd.campaign.server.problem_responses import as_response
from quietcrowd.campaign.server.stalling import UnlessStalled

__all__ = ["is_whole_post", "shedding_protocol"]

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,9})[ \t]*(?=\r\n)")

_OTHERS = re.compile(
    rb"\r\n(?:transfer-encoding:|expect:|upgrade:|connection:(?![ \t]*keep-alive[ \t]*\r\n))"
)
"""Headers with which a request may be another one than it seems."""


def is_whole_post(data: bytes) -> bool:
    """Return whether bytes are a POST request, from its first byte to its last.

    Nothing else of HTTP/1.1 is known here: what is not surely one is not one.
    """
    head, _, body = data.partition(b"\r\n\r\n")
    lowered = head.lower() + b"\r\n"
    return (
        data.startswith(b"POST ")
        and _LENGTH.findall(lowered) == [str(len(body)).encode()]
        and b" http/1.1\r\n" in lowered
        and _OTHERS.search(lowered) is None
    )


def shedding_protocol(at_once: int, arrivals: Arrivals) -> type[H11Protocol]:
    """Return the protocol of a server that works on so many requests at once.

    What does not come in one piece is parsed, and refused by the application. Requests whose
    bodies are still coming in are not worked on.

    Parameters
    ----------
    at_once : int
        Most requests that are worked on.
    arrivals : Arrivals
        Of the application: bodies that are coming in.
    """
    refusal = _refusal()
    malformed = as_response(
        ProblemError("malformed", "Send HTTP/1.1 (RFC 9112).", headers={"Connection": "close"})
    )

    class Shedding(UnlessStalled):
        @property
        def patience(self) -> float:
            return arrivals.patience

        def data_received(self, data: bytes) -> None:
            worked_on = len(self.tasks) - arrivals.waiting
            if worked_on < at_once or not self._may_shed or not is_whole_post(data):
                super().data_received(data)
                return
            self.await_head(coming=False)
            self.transport.write(refusal)
            self.on_response_complete()
            log_request("POST", "unknown", 503, 0.0)

        def send_400_response(self, msg: str) -> None:  # noqa: ARG002
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                headers = [*self.server_state.default_headers, *malformed.raw_headers, *HEADERS]
                for event in (
                    h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                    h11.Data(data=bytes(malformed.body)),
                    h11.EndOfMessage(),
                ):
                    self.transport.write(self.conn.send(event))
            self.transport.close()
            log_request("unknown", "unknown", 400, 0.0)

        @property
        def _may_shed(self) -> bool:
            """Whether what comes now is the start of a request, and its answer will be read."""
            between = self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
            return between and not self.flow.write_paused

    return Shedding


def _refusal() -> bytes:
    response = as_response(ProblemError("busy", BUSY))
    lines = [b": ".join(pair) for pair in (*response.raw_headers, *HEADERS)]
    return b"\r\n".join([b"HTTP/1.1 503 Service Unavailable", *lines, b"", bytes(response.body)])
