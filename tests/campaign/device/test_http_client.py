import gzip
import socket
import threading
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime

import httpx
import pytest
from tests.campaign.devices import NOWHERE, Fake
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.pictures import NO_IMAGES, PICTURES, PNG, hash_of, image, png
from tests.campaign.waiting import in_time

from quietcrowd.campaign import Client
from quietcrowd.campaign.device import http_client
from quietcrowd.campaign.device.http_client import CampaignServer, read_object, require_success
from quietcrowd.campaign.terms.server_address import CampaignLink
from quietcrowd.exceptions import CampaignError, UnansweredError

LINK = CampaignLink.read("https://crowd.example/base/j/" + 32 * "0")
TOKEN = "qcw_" + 43 * "a"


@pytest.fixture(autouse=True)
def naps(monkeypatch):
    slept = []
    monkeypatch.setattr("quietcrowd.campaign.device.http_client.sleep", slept.append)
    return slept


def server_of(*answers, patience=100.0):
    """Return a server that gives these answers, and the requests that it gets."""
    left, seen = list(answers), []

    def handle(request):
        seen.append(request)
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    transport = httpx.MockTransport(handle)
    return CampaignServer(link=LINK, patience=patience, transport=transport), seen


def test_a_request_is_as_it_is_given(naps):
    server, seen = server_of(httpx.Response(200, json={"a": 1}))
    answer = server.ask("POST", "/me/reports", content=b"{}", credential=TOKEN)
    assert read_object(answer) == {"a": 1}
    [request] = seen
    assert str(request.url) == "https://crowd.example/base/api/v1/me/reports"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.content == b"{}"
    assert naps == []


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_failures_are_tried_again_after_a_pause(naps, status):
    server, seen = server_of(httpx.Response(status), httpx.Response(status), httpx.Response(204))
    assert server.ask("GET", "/me").status_code == 204
    assert len(seen) == 3
    assert naps == [0.5, 1.0]


@pytest.mark.parametrize("status", [200, 204, 302, 400, 401, 404, 409, 422, 501])
def test_answers_are_not_asked_for_again(status):
    server, seen = server_of(httpx.Response(status))
    assert server.ask("GET", "/me").status_code == status
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("text", "pause"),
    [
        ("7", 7),
        ("0", 0.5),
        ("", 0.5),
        ("-4", 0.5),
        ("soon", 0.5),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.5),
        ("Sat, 12 Sep 2026 12:01:00 GMT", 60),
    ],
)
def test_a_pause_is_as_long_as_the_server_asks_for(naps, monkeypatch, text, pause):
    now = parsedate_to_datetime("Sat, 12 Sep 2026 12:00:00 GMT").timestamp()
    monkeypatch.setattr("quietcrowd.campaign.device.http_client.time.time", lambda: now)
    busy = httpx.Response(503, headers={"Retry-After": text})
    server, _ = server_of(busy, httpx.Response(204))
    server.ask("GET", "/me")
    assert naps == [pause]


def test_patience_ends(naps):
    server, seen = server_of(httpx.Response(503, headers={"Retry-After": "900"}), patience=100)
    with pytest.raises(UnansweredError, match=r"is unavailable: status 503; try again in 900 s"):
        server.ask("GET", "/me")
    assert (len(seen), naps) == (1, [])
    broken, _ = server_of(httpx.ConnectError(f"no route for {TOKEN}\n"), patience=0)
    with pytest.raises(
        UnansweredError, match=r"cannot be reached: no route for qcw_\.\.\.; try again later$"
    ):
        broken.ask("GET", "/me")
    silent, _ = server_of(httpx.ReadTimeout(""), patience=0)
    with pytest.raises(UnansweredError, match="cannot be reached: ReadTimeout"):
        silent.ask("GET", "/me")


def test_a_refusal_is_one_line():
    document = {"title": "No", "detail": f"Not\n{TOKEN}\x1b[2J"}
    with pytest.raises(
        CampaignError, match=r"^the server rejected the request: No\. Not qcw_\.\.\. ?.\[2J$"
    ):
        require_success(httpx.Response(409, json=document))
    document["errors"] = [{"pointer": "/a", "message": f"{TOKEN}\x1b[2J"}]
    with pytest.raises(
        CampaignError, match=r"^the server rejected the request: /a qcw_\.\.\. ?.\[2J$"
    ):
        require_success(httpx.Response(422, json=document))
    for content in (b"", b"[]", b'{"title": 1}', b"\xff"):
        with pytest.raises(CampaignError, match=r"^the server rejected the request: status 500$"):
            require_success(httpx.Response(500, content=content))


@pytest.mark.parametrize("content", [b"", b"[1]", b"<html>", b"[" * 100_000, b"\xff"])
def test_what_is_no_object_is_no_answer(content):
    with pytest.raises(CampaignError, match="check the link"):
        read_object(httpx.Response(200, content=content))


def test_no_proxy_stands_before_this_machine(monkeypatch):
    made = []
    real = httpx.Client

    def client(**members):
        made.append(members)
        return real(**{**members, "transport": httpx.MockTransport(lambda _: httpx.Response(204))})

    monkeypatch.setattr("httpx.Client", client)
    for url in ("https://crowd.example/j/", "http://127.0.0.1:8000/j/"):
        link = CampaignLink.read(url + 32 * "0")
        CampaignServer(link=link, patience=0).ask("GET", "/me")
    assert [one["trust_env"] for one in made] == [True, False]
    assert [one["verify"] for one in made] == [True, False]


@contextmanager
def trickling(*, at_once, then, pause=0.05):
    """Serve one address: some bytes at once, then one after the other again and again."""
    listener, ended = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def serve():
        with suppress(OSError), listener.accept()[0] as connection:
            connection.recv(10_000)
            connection.sendall(at_once)
            while not ended.wait(pause):
                connection.sendall(then)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield CampaignLink.read(f"http://127.0.0.1:{listener.getsockname()[1]}/j/" + 32 * "0")
    finally:
        ended.set()
        listener.close()


TRICKLES = {
    "before the headers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "in the headers": (b"HTTP/1.1 200 OK\r\nX-Long: ", b"a"),
    "in a body of a length": (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{", b" "),
    "in a body without one": (b"HTTP/1.1 200 OK\r\n\r\n{}", b" "),
    "in chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRICKLES)
def test_an_answer_that_never_ends_is_cut(monkeypatch, name):
    monkeypatch.setattr("quietcrowd.campaign.device.http_client.DEADLINE", 0.2)
    at_once, then = TRICKLES[name]
    with (
        trickling(at_once=at_once, then=then) as link,
        pytest.raises(
            UnansweredError, match=r"cannot be reached: there was no whole answer within 0\.2 s"
        ),
    ):
        CampaignServer(link=link, patience=0).ask("GET", "/me")


def test_no_timer_outlives_its_request():
    server, _ = server_of(httpx.Response(204))
    before = threading.active_count()
    server.ask("GET", "/me")
    assert in_time(lambda: threading.active_count() <= before)


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "deflate, gzip", "br", "secret"])
def test_a_packed_answer_is_refused(coding):
    body = gzip.compress(b"{}")
    headers = {"Content-Encoding": coding, "Content-Length": str(len(body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode()
    with (
        trickling(at_once=head + body, then=b" ") as link,
        pytest.raises(CampaignError, match="sent a compressed response"),
    ):
        CampaignServer(link=link, patience=0).ask("GET", "/me")


def test_what_is_said_to_be_as_it_is_is_read():
    answer = httpx.Response(200, json={"a": 1}, headers={"Content-Encoding": "identity"})
    assert read_object(server_of(answer)[0].ask("GET", "/me")) == {"a": 1}


def test_an_answer_that_is_too_long_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr("quietcrowd.campaign.device.http_client.MAX_ANSWER", 10_000)
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    with (
        trickling(at_once=head, then=b" " * 999, pause=0) as link,
        pytest.raises(CampaignError, match="exceeds 10,000 bytes"),
    ):
        CampaignServer(link=link, patience=0).ask("GET", "/me")
    server, _ = server_of(httpx.Response(200, content=b" " * 9_998 + b"{}"))
    assert read_object(server.ask("GET", "/me")) == {}


CONTENTS = {hash_of(one): one for one in PICTURES.values()}
SHOWN = [{"q": f"{place}?", "a": image(one)} for place, one in enumerate(PICTURES.values())]


@pytest.fixture
def fake():
    fake = Fake.of(MECHANISMS["one-layer"], data=[*SHOWN, *SHOWN[:1], {"q": "?"}])
    fake.images.update(CONTENTS)
    return fake


@pytest.fixture
def device(fake, tmp_path):
    return Client(NOWHERE, folder=tmp_path / "device", transport=fake)


def fetched(fake):
    """Return the hashes of images that were asked for, in order."""
    paths = [request.url.path for request in fake.requests]
    return [path.rpartition("/")[2] for path in paths if "/me/images/" in path]


def test_all_images_are_fetched_on_joining_in_one_order(fake, device):
    assert device.images == {}
    device.join()
    assert fetched(fake) == sorted(CONTENTS)
    assert {hash_: file.read_bytes() for hash_, file in device.images.items()} == CONTENTS
    assert {file.suffix for file in device.images.values()} == {".png", ".jpg", ".webp"}
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in device.images.values())
    assert len({request.headers["authorization"] for request in fake.requests[2:]}) == 1


def test_answering_asks_for_no_image_and_the_receipt_ends_them(fake, device):
    device.join()
    joined = len(fake.requests)
    device.answer({"t3": "yes"})
    assert len(fetched(fake)) == len(CONTENTS)
    assert not any("/me/images/" in one.url.path for one in fake.requests[joined:])
    assert device.images == {}
    device.resume()
    assert len(fetched(fake)) == len(CONTENTS)


def test_what_was_interrupted_goes_on(fake, device):
    last = max(CONTENTS)
    del fake.images[last]
    with pytest.raises(CampaignError, match="the server rejected the request"):
        device.join()
    assert len(device.images) == len(CONTENTS) - 1
    fake.images[last] = CONTENTS[last]
    device.join()
    assert fetched(fake) == [*sorted(CONTENTS), last]
    assert set(device.images) == set(CONTENTS)


def test_leaving_ends_them(device, tmp_path):
    device.join()
    device.withdraw()
    assert list((tmp_path / "device").glob("campaigns/*/image-*")) == []


@pytest.mark.parametrize("other", [png(9), PNG + bytes(2**20), *NO_IMAGES.values()])
def test_another_image_is_refused(fake, device, other):
    fake.images[hash_of(PNG)] = other
    with pytest.raises(CampaignError, match=r"the image [0-9a-f]{12}\.\.\. of the server"):
        device.join()
    assert hash_of(PNG) not in device.images
    assert fake.posted == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (NO_IMAGES["SVG"], "this is no PNG, JPEG or WebP"),
        (NO_IMAGES["a GIF"], "this is no PNG, JPEG or WebP"),
        (png(width=60_000, height=60_000), "60,000 x 60,000 pixels; at most 40,000,000"),
    ],
)
def test_what_has_its_hash_and_is_not_shown_is_refused(tmp_path, content, told):
    fake = Fake.of(MECHANISMS["one-layer"], data=[{"a": image(content)}])
    fake.images[hash_of(content)] = content
    with pytest.raises(CampaignError, match=told):
        Client(NOWHERE, folder=tmp_path, transport=fake).join()


@pytest.mark.parametrize(
    ("limit", "value", "told"),
    [
        ("MAX_IMAGES", 2, "have 3 images, more than the limit of 2"),
        ("MAX_IMAGE_BYTES", 200, "exceed 200 bytes"),
    ],
)
def test_a_device_fetches_so_much_at_most(device, monkeypatch, limit, value, told):
    monkeypatch.setattr(http_client, limit, value)
    with pytest.raises(CampaignError, match=told):
        device.join()
