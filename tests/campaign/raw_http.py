"""HTTP as bytes, in the parts in which a test sends them."""

import socket

import h11


def answer(connection: socket.socket, *parts: bytes) -> tuple[int, dict, bytes]:
    """Send a request in parts, and return status, headers and body of the answer."""
    client = h11.Connection(h11.CLIENT)
    request = h11.Request(
        method="POST", target="/", headers=[("Host", "here"), ("Content-Length", "0")]
    )
    client.send(request)
    client.send(h11.EndOfMessage())
    for part in parts:
        connection.sendall(part)
    events = []
    while not events or not isinstance(events[-1], h11.EndOfMessage):
        event = client.next_event()
        if event is h11.NEED_DATA:
            client.receive_data(connection.recv(65_536))
        else:
            events.append(event)
    body = b"".join(bytes(one.data) for one in events if isinstance(one, h11.Data))
    return events[0].status_code, dict(events[0].headers), body
