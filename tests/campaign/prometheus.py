"""A Prometheus of one's own, that scrapes a server for as long as a test runs."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from attrs import frozen
from tests.campaign.people import PLAIN
from tests.campaign.ports import free_port
from tests.campaign.waiting import LONG, in_time
from tests.programs import finished, running

HOW_TO_GET_IT = (
    "Prometheus is not installed: no panel of the dashboard is tried on it. make prometheus "
    "installs it on Debian, as root or with sudo; elsewhere put it on the PATH"
)


def find_prometheus() -> Path | None:
    """Return the program; None where there is none that runs."""
    found = shutil.which("prometheus")
    if found is None:
        return None
    return None if finished(found, "--version").status else Path(found)


@frozen(kw_only=True)
class Prometheus:
    """A Prometheus that answers."""

    port: int

    def query(self, expression: str) -> list[dict]:
        """Return what an expression gives now."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query"
        answer = httpx.get(url, params={"query": expression}, verify=PLAIN, timeout=LONG)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]["result"]


@contextmanager
def prometheus(program: Path, folder: Path, target: int) -> Iterator[Prometheus]:
    """Give a Prometheus that scrapes a port of this machine once a second."""
    scrape = {"job_name": "quietcrowd", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}
    told = {"global": {"scrape_interval": "1s"}, "scrape_configs": [scrape]}
    (folder / "prometheus.yml").write_text(json.dumps(told))  # JSON is YAML
    port = free_port()
    words = [
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with running(program, *words) as server:
        assert in_time(lambda: server.has_ended or _is_ready(port)), "it does not start"
        assert not server.has_ended, server.finished().errors
        yield Prometheus(port=port)


def _is_ready(port: int) -> bool:
    try:
        answer = httpx.get(f"http://127.0.0.1:{port}/-/ready", verify=PLAIN, timeout=LONG)
    except httpx.TransportError:
        return False
    return answer.status_code == 200
