"""deploy/nginx: what it passes on, what it keeps to itself, and what strangers can do to it."""

import secrets
import socket
import ssl
import sys
import threading
from contextlib import ExitStack, suppress

import httpx
import pytest
from attrs import define
from tests.campaign.people import PLAIN
from tests.campaign.server_process import ServerProcess, new_key, server_process
from tests.campaign.uploading import Uploader, open_campaign
from tests.campaign.waiting import LONG
from tests.deploy.nginx import HOW_TO_GET_IT, Proxy, find_nginx, nginx

from quietcrowd.campaign.terms.tokens import new_token

pytestmark = pytest.mark.nightly


@pytest.fixture
def nginx_program():
    found = find_nginx()
    if found is None:
        pytest.skip(HOW_TO_GET_IT)
    return found


@define
class Site:
    """nginx before a server, and who asks it from addresses of this machine."""

    proxy: Proxy
    server: ServerProcess
    key: str
    _open: ExitStack

    def client(self, address="127.0.0.1", **headers):
        transport = httpx.HTTPTransport(verify=self.proxy.trust, local_address=address)
        made = httpx.Client(
            base_url=f"{self.proxy.url}/api/v1", headers=headers, transport=transport, timeout=LONG
        )
        return self._open.enter_context(made)

    def requester(self):
        return self.client(authorization=f"Bearer {self.key}")

    def campaign(self, tasks):
        return open_campaign(self.server.base_url, self.key, tasks)

    def worker(self, campaign, address="127.0.0.1", **headers):
        """Return a worker who has not joined yet."""
        credential = new_token("qcw_")
        reached = self.client(address, authorization=f"Bearer {credential}", **headers)
        return Uploader(
            campaign, threading.Event(), threading.Event(), credential=credential, client=reached
        )


@pytest.fixture
def build(nginx_program, tmp_path):
    """Give a function that starts a server with options, and nginx before it."""
    with ExitStack() as stack:

        def build(*options):
            database = f"sqlite:///{tmp_path}/q.db"
            key = new_key(database)
            folder = tmp_path / "nginx"
            folder.mkdir()
            words = ["--trusted-proxy", "127.0.0.1", "--no-infer", *options]
            server = stack.enter_context(server_process(database, tmp_path / "log", *words))
            proxy = stack.enter_context(nginx(nginx_program, folder, server.port))
            return Site(proxy=proxy, server=server, key=key, open=stack)

        yield build


@pytest.fixture
def site(build):
    return build()


def reports(tasks):
    return [{"report_id": secrets.token_hex(16), "task_id": task, "value": 1} for task in tasks]


def test_workers_answer_through_it_and_nothing_of_it_is_written_down(site):
    campaign = site.campaign(3_000)
    worker = site.worker(campaign, "127.0.0.9")
    worker.join()
    # an upload of .3 MB, which nginx would write to the disk where it has less memory for it
    assert worker.send(reports(worker.tasks())), worker.statuses
    got = site.requester().get(f"/campaigns/{campaign.id}/reports").raise_for_status()
    assert got.content.count(b"\n") >= 3_000
    assert got.headers["strict-transport-security"] == "max-age=31536000"
    assert got.headers["server"] == "nginx"
    assert site.proxy.written() == {}
    assert "127.0.0.9" not in site.proxy.errors.read_text() + site.server.log.read_text()


def test_http_leads_to_https(site):
    url = f"http://localhost:{site.proxy.plain_port}/w/?a=1"
    told = httpx.get(url, verify=PLAIN, timeout=LONG)
    assert (told.status_code, told.headers["location"]) == (301, "https://localhost/w/?a=1")


def answered(proxy, request, *, name=None, tls=True):
    """Return what nginx sends to a request, over TLS with this name in the handshake."""
    place = ("127.0.0.1", proxy.port if tls else proxy.plain_port)
    with ExitStack() as stack:
        reached = stack.enter_context(socket.create_connection(place, timeout=LONG))
        if tls:
            trust = ssl.create_default_context()
            trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
            reached = stack.enter_context(trust.wrap_socket(reached, server_hostname=name))
            assert reached.version() == "TLSv1.3"
        reached.sendall(request)
        with suppress(ConnectionResetError):
            return reached.recv(1_000)
    return b""


READY = b"GET /api/v1/readyz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"
OTHER_HOSTS = (READY % b"127.0.0.1", READY % b"evil.example", b"GET / HTTP/1.0\r\n\r\n")


def test_other_hosts_get_no_answer(site):
    ours = READY % b"localhost"
    assert answered(site.proxy, ours, tls=False).startswith(b"HTTP/1.1 301")
    assert answered(site.proxy, ours, name="localhost").startswith(b"HTTP/1.1 200")
    for other in OTHER_HOSTS:
        assert answered(site.proxy, other, tls=False) == b""
        assert answered(site.proxy, other, name="localhost") == b""
    for name in (None, "evil.example"):  # no certificate either
        with pytest.raises(ssl.SSLError, match=r"UNRECOGNIZED_NAME"):
            answered(site.proxy, ours, name=name)


def test_nobody_joins_under_the_address_of_another(build):
    """Joins count by source: who writes X-Forwarded-For gains nothing by it."""
    site = build("--joins-per-minute", "0.001", "--set", "joins_at_once=2")
    campaign = site.campaign(1)

    def joins(address, claimed):
        worker = site.worker(campaign, address, **{"x-forwarded-for": claimed})
        try:
            worker.join()
        except httpx.HTTPStatusError as refused:
            return refused.response.status_code
        return 200

    found = [joins("127.0.0.2", f"10.0.0.{one}") for one in range(4)]
    assert found == [200, 200, 429, 429]
    assert joins("127.0.0.3", "10.0.0.9") == 200


def test_what_is_too_large_is_refused_before_a_server_reads_it(site):
    refused = site.requester().post("/campaigns", content=b" " * (2**20 + 1))
    assert refused.status_code == 413
    assert refused.headers["server"] == "nginx"


@pytest.mark.parametrize(("kind", "count"), [("idle", 4_000), ("trickle", 1_000), ("hasty", 100)])
def test_a_flood_from_one_address_keeps_nobody_else_out(site, program, kind, count):
    campaign = site.campaign(2_000)
    workers = [site.worker(campaign, f"127.0.1.{one}") for one in range(1, 5)]
    for worker in workers:
        worker.join()
    tasks = workers[0].tasks()
    words = (kind, site.proxy.port, count, "127.0.0.2")
    flood = program(sys.executable, "-m", "tests.deploy.tls_flood", *words)
    flood.until("flooding")
    for first in range(0, 400, 10):
        for worker in workers:
            assert worker.send(reports(tasks[first : first + 10])), worker.statuses
    assert not flood.has_ended


def test_half_a_head_of_a_request_is_not_waited_for(site):
    place = ("127.0.0.1", site.proxy.plain_port)
    with socket.create_connection(place, timeout=LONG) as silent:
        silent.sendall(b"GET / HTTP/1.1\r\nHost: ")
        with suppress(ConnectionResetError):
            assert silent.recv(1) == b""
