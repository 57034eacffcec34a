"""deploy/Caddyfile: what Caddy forwards, what it conceals, and what strangers can do to it."""

import os
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
from tests.campaign.ports import free_port
from tests.campaign.server_process import ServerProcess, new_key, server_process
from tests.campaign.uploading import Uploader, open_campaign
from tests.campaign.waiting import LONG, in_time
from tests.campaign.web.browser import chromium
from tests.campaign.web.people_in_browsers import new_person
from tests.deploy.caddy import CADDYFILE, HOW_TO_GET_IT, NAME, Proxy, caddy, find_caddy
from tests.programs import finished

from quietcrowd.campaign.device.client import Client
from quietcrowd.campaign.server.admission import HEADERS
from quietcrowd.campaign.terms.tokens import new_token

pytestmark = pytest.mark.nightly


@pytest.fixture
def caddy_program():
    found = find_caddy()
    if found is None:
        pytest.skip(HOW_TO_GET_IT)
    return found


@define
class Site:
    """Caddy in front of a server, and clients at addresses of this machine."""

    proxy: Proxy
    server: ServerProcess
    key: str
    _open: ExitStack

    def client(self, address="127.0.0.1", **headers):
        made = httpx.Client(
            base_url=f"{self.proxy.url}/api/v1",
            headers=headers,
            transport=self.proxy.transport(address),
            timeout=LONG,
        )
        return self._open.enter_context(made)

    def requester(self):
        return self.client(authorization=f"Bearer {self.key}")

    def campaign(self, tasks):
        return open_campaign(self.server.base_url, self.key, tasks)

    def link(self, campaign):
        return f"{self.proxy.url}/j/{campaign.id}"

    def worker(self, campaign, address="127.0.0.1", **headers):
        """Return a worker who has not joined yet."""
        credential = new_token("qcw_")
        reached = self.client(address, authorization=f"Bearer {credential}", **headers)
        return Uploader(
            campaign, threading.Event(), threading.Event(), credential=credential, client=reached
        )


@pytest.fixture
def build(caddy_program, tmp_path):
    """Give a function that starts a server with options, and Caddy in front of it."""
    with ExitStack() as stack:

        def build(*options, others=()):
            database = f"sqlite:///{tmp_path}/q.db"
            key = new_key(database)
            folder = tmp_path / "caddy"
            folder.mkdir()
            words = ["--trusted-proxy", "127.0.0.1", *options]
            server = stack.enter_context(server_process(database, tmp_path / "log", *words))
            proxy = stack.enter_context(caddy(caddy_program, folder, *others, server.port))
            return Site(proxy=proxy, server=server, key=key, open=stack)

        yield build


@pytest.fixture
def site(build):
    return build("--no-infer")


def reports(tasks):
    return [{"report_id": secrets.token_hex(16), "task_id": task, "value": 1} for task in tasks]


def test_workers_answer_through_it_and_it_writes_nothing_down(site):
    before = site.proxy.traces()
    campaign = site.campaign(3_000)
    worker = site.worker(campaign, "127.0.0.9")
    worker.join()
    assert worker.send(reports(worker.tasks())), worker.statuses
    got = site.requester().get(f"/campaigns/{campaign.id}/reports").raise_for_status()
    assert got.content.count(b"\n") >= 3_000
    assert site.client().get("/nowhere").status_code == 404
    assert site.proxy.traces() == before
    assert "127.0.0.9" not in site.server.log.read_text()


def test_nothing_is_written_down_of_a_request_that_no_server_answers(site):
    before = site.proxy.traces()
    site.server.program.kill()
    assert site.client().get("/readyz").status_code == 502
    assert site.proxy.traces() == before


def test_a_whole_campaign_of_clients_over_https(build):
    site = build()
    campaign = site.campaign(20)
    for place in range(12):
        folder = site.proxy.folder.parent / f"device-{place}"
        client = Client(site.link(campaign), folder=folder, transport=site.proxy.transport())
        client.join()
        receipt = client.answer({task.name: "yes" for task in client.tasks})
        assert receipt.accepted == 20
    requester = site.requester()

    def inferred():
        return requester.get(f"/campaigns/{campaign.id}/results").status_code == 200

    assert in_time(inferred, every=1), site.server.log.read_text()[-1000:]


def test_the_page_of_workers_over_https(site):
    """Chromium does not know the internal authority."""
    campaign = site.campaign(3)
    with chromium() as browser:
        context = browser.new_context(
            locale="en-US", ignore_https_errors=True, service_workers="block"
        )
        worker = new_person(context, None, quick=True)
        requests = []
        worker.page.on("request", lambda request: requests.append(request.url))
        worker.open(site.link(campaign))
        assert 100 * len(requests) <= 1_000, requests  # a hundred people have one address
        worker.play(site.link(campaign), ["yes", "no", "yes"])
        assert worker.page.evaluate("isSecureContext")
        worker.send()
        credential = worker.arrive()
        assert worker.told == []
        context.close()
    stored = site.client(authorization=f"Bearer {credential}").get("/me/reports").json()
    assert len(stored["reports"]) == 3


def test_headers_are_those_of_the_server_and_hsts(site):
    pages = f"/j/{site.campaign(1).id}", "/dashboard/", "/api/v1/readyz"
    for page in pages:
        got = site.client().get(site.proxy.url + page).raise_for_status().headers
        assert got["strict-transport-security"] == "max-age=31536000"
        direct = f"http://127.0.0.1:{site.server.port}{page}"
        own = httpx.get(direct, verify=PLAIN, timeout=LONG).raise_for_status().headers
        for name in (name.decode() for name, _ in HEADERS):
            assert got.get_list(name) == own.get_list(name) != []


def test_http_leads_to_https(site):
    url = f"http://127.0.0.1:{site.proxy.plain_port}/w/?a=1"
    told = httpx.get(url, headers={"host": NAME}, verify=PLAIN, timeout=LONG)
    assert (told.status_code, told.headers["location"]) == (308, f"https://{NAME}/w/?a=1")


def answered(proxy, request, *, name=None, tls=True):
    """Return Caddy's response to a request, over TLS with this name in the handshake."""
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
OTHER_HOSTS = (READY % b"127.0.0.1", READY % b"evil.example", READY % f"{NAME}.".encode())


def test_other_hosts_get_no_response(site):
    before = site.proxy.traces()
    ours = READY % NAME.encode()
    assert answered(site.proxy, ours, tls=False).startswith(b"HTTP/1.1 308")
    assert answered(site.proxy, ours, name=NAME).startswith(b"HTTP/1.1 200")
    for other in OTHER_HOSTS:
        assert answered(site.proxy, other, tls=False) == b""
        assert answered(site.proxy, other, name=NAME) == b""
    for name in (None, "evil.example"):  # no certificate either
        with pytest.raises(ssl.SSLError, match="ALERT_INTERNAL_ERROR"):
            answered(site.proxy, ours, name=name)
    assert site.proxy.traces() == before


def test_nobody_joins_under_the_address_of_another(build):
    """Joins count by source: a client that writes X-Forwarded-For gains nothing."""
    site = build("--no-infer", "--joins-per-minute", "0.001", "--set", "joins_at_once=2")
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


def test_large_and_slow_bodies_get_the_response_of_the_server(build):
    site = build("--no-infer", "--set", "body_seconds=1")
    too_large = site.requester().post("/campaigns", content=b" " * (2**20 + 1))
    assert too_large.status_code == 413
    head = (
        f"POST /api/v1/campaigns HTTP/1.1\r\nHost: {NAME}\r\nAuthorization: Bearer {site.key}\r\n"
    )
    half = f"{head}Content-Length: 10\r\n\r\n12345"
    assert answered(site.proxy, half.encode(), name=NAME).startswith(b"HTTP/1.1 408")


def test_requests_go_to_the_server_that_runs(build):
    site = build("--no-infer", others=(free_port(),))
    assert {site.client().get("/readyz").status_code for _ in range(20)} == {200}


FLOODS = [("idle", 4_000), ("trickle", 1_000), ("hasty", 100)]


@pytest.mark.parametrize(("kind", "count"), FLOODS)
def test_a_flood_from_one_address_keeps_nobody_else_out(build, program, kind, count):
    limits = ("source_requests_per_second=100", "source_burst=1000")
    site = build("--no-infer", *(word for limit in limits for word in ("--set", limit)))
    campaign = site.campaign(2_000)
    workers = [site.worker(campaign, f"127.0.1.{one}") for one in range(1, 5)]
    for worker in workers:
        worker.join()
    tasks = workers[0].tasks()
    words = (kind, NAME, site.proxy.port, count, "127.0.0.2")
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


AUTHORITY = """\
{
	admin off
	skip_install_trust
	auto_https disable_redirects
	http_port 9080
	https_port 9443
	storage file_system authority
}
https://authority.example:9443 {
	tls internal
	acme_server
}
"""

REQUESTED = """\
	acme_ca https://authority.example:9443/acme/local/directory
	acme_ca_root authority/pki/authorities/local/root.crt
	storage file_system site
"""

NAMESPACE = """
set -e
cd "$1"
ip link set lo up
echo 127.0.0.1 localhost authority.example crowd.example.org >hosts
mount --bind hosts /etc/hosts
shows() {
    openssl s_client -connect 127.0.0.1:$1 -servername $2 -verify_hostname $2 -verify_return_error \
        -CAfile authority/pki/authorities/local/root.crt </dev/null
}
"$2" run --config authority.conf --adapter caddyfile &
authority=$!
until shows 9443 authority.example; do kill -0 $authority; sleep .1; done
"$2" run --config site.conf --adapter caddyfile &
site=$!
until shows 443 crowd.example.org; do kill -0 $site; sleep .1; done
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="ports 80 and 443: root")
def test_it_gets_its_certificate_by_itself(caddy_program, tmp_path):
    """In a network of its own, in which another Caddy is the authority that tests the name."""
    configuration = CADDYFILE.read_text().replace("\tadmin off\n", f"\tadmin off\n{REQUESTED}")
    (tmp_path / "authority.conf").write_text(AUTHORITY)
    (tmp_path / "site.conf").write_text(configuration)
    environment = {**os.environ, "HOME": str(tmp_path), "DOMAIN": "crowd.example.org"}
    words = ("unshare", "--net", "--mount", "sh", "-c", NAMESPACE, "sh", tmp_path, caddy_program)
    finished(*words, check=True, env=environment)
