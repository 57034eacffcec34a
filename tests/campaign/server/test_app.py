import socket
import threading

import httpx
import pytest
from tests.campaign.people import PLAIN
from tests.campaign.ports import has_ipv6
from tests.campaign.waiting import LONG

from quietcrowd.campaign.server.app import serve_in_background
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.server.start import listener
from quietcrowd.exceptions import ParameterError


def settings(tmp_path, port=0):
    return Settings(database=f"sqlite:///{tmp_path}/q.db", port=port, infer=False)


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    left = set(threading.enumerate()) - before
    assert [thread.name for thread in left if "AnyIO" not in thread.name] == []


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_a_server_lasts_as_long_as_its_block(tmp_path, error):
    try:
        with serve_in_background(settings(tmp_path)) as server:
            assert httpx.get(f"{server.url}/api/v1/readyz", verify=PLAIN, timeout=LONG).json() == {
                "status": "ok"
            }
            if error is not None:
                raise error
    except KeyboardInterrupt:
        assert error is KeyboardInterrupt
    with listener(settings(tmp_path, httpx.URL(server.url).port)):  # nobody is there any more
        pass
    with serve_in_background(settings(tmp_path)) as again:  # the file is free
        assert (
            httpx.get(f"{again.url}/api/v1/readyz", verify=PLAIN, timeout=LONG).status_code == 200
        )


def test_a_server_may_listen_on_ipv6(tmp_path):
    if not has_ipv6():
        pytest.skip("this machine has no IPv6")
    with serve_in_background(settings(tmp_path).model_copy(update={"host": "::1"})) as server:
        assert server.url.startswith("http://[::1]:")
        assert httpx.get(f"{server.url}/api/v1/readyz", verify=PLAIN, timeout=LONG).json() == {
            "status": "ok"
        }


def test_a_port_that_is_taken_is_one_sentence(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with (
            pytest.raises(ParameterError, match=f"cannot listen on 127.0.0.1:{port}"),
            serve_in_background(settings(tmp_path, port)),
        ):
            pass
