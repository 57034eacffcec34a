import io
import json
import logging
import sys
from contextlib import suppress
from types import SimpleNamespace

import httpx
import pytest
from tests.campaign.people import PLAIN, check_problem
from tests.campaign.ports import free_port
from tests.campaign.server_process import base_url
from tests.campaign.waiting import LONG, in_time

from quietcrowd.campaign.server import logs

SERVER = """
import sys
from quietcrowd.campaign.server import writer
from quietcrowd.campaign.server.app import serve
from quietcrowd.campaign.server.settings import Settings

class Unraisable:
    def __del__(self):
        raise LookupError("planted-secret")

def end(_):
    Unraisable()
    raise RuntimeError("planted-secret")

writer.Writer._run = end
serve(Settings(database=sys.argv[1], port=int(sys.argv[2]), infer=False))
raise ValueError("planted-secret")
"""


def first_refusal(url, server):
    """Return the first answer that says no: a thread that ends may do so after the start."""
    answers = []

    def refuses():
        with suppress(httpx.TransportError):
            answers.append(httpx.get(url, verify=PLAIN, timeout=LONG))
        return server.has_ended or (answers and answers[-1].status_code != 200)

    assert in_time(refuses)
    return answers[-1]


@pytest.mark.nightly
@pytest.mark.slow
def test_what_ends_a_thread_or_the_process_is_logged_by_its_kind_alone(program, tmp_path):
    port = free_port()
    server = program(sys.executable, "-c", SERVER, f"sqlite:///{tmp_path}/q.db", port)
    check_problem(first_refusal(f"{base_url(port)}/readyz", server), 503, "broken")
    server.interrupt()
    told = server.finished().errors
    assert "planted-secret" not in told
    lines = [json.loads(line) for line in told.splitlines()]
    failures = [(line["event"], line["error"]) for line in lines if "error" in line]
    assert failures == [
        ("process", "LookupError"),
        ("thread", "RuntimeError"),
        ("process", "ValueError"),
    ]
    assert all(line["place"] for line in lines if "error" in line)


@pytest.mark.usefixtures("log_as_before")
def test_the_same_line_of_a_library_is_logged_once_a_second(monkeypatch):
    now, stream = [100.0], io.StringIO()
    clock = SimpleNamespace(monotonic=lambda: now[0])  # that of all else in the process goes on
    monkeypatch.setattr(logs, "time", clock)
    logs.start_log(stream)
    for _ in range(3):
        for _ in range(1_000):
            logging.getLogger("library").error("planted-secret", exc_info=OSError("planted-secret"))
            logging.getLogger("library").error("planted-secret", exc_info=KeyError())
            logging.getLogger("other").error("planted-secret")
        now[0] += 1.0
    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert len(told) == 9
    assert [(one["place"], one["error"]) for one in told[:2]] == [
        ("library", "OSError"),
        ("library", "KeyError"),
    ]
