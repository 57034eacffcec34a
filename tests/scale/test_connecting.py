import multiprocessing
import signal
import socket
import sys
import threading

import pytest
from tests.nightly import nightly

from quietcrowd.exceptions import ParameterError
from quietcrowd.scale import connect
from quietcrowd.scale.connecting import _interrupts_later


@pytest.mark.parametrize("scheduler", ["local:0", "10.0.0.1:8786", "locals", ""])
def test_what_is_no_scheduler(scheduler):
    with (
        pytest.raises(ParameterError, match="tcp://host:port, local, or local:N"),
        connect(scheduler),
    ):
        pass


@pytest.mark.slow
def test_nobody_answers(monkeypatch):
    monkeypatch.setattr("quietcrowd.scale.connecting.CONNECTING", 0.5)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with (
            pytest.raises(ConnectionError, match=f"no Dask scheduler answers at {address}"),
            connect(address),
        ):
            pass


@pytest.mark.slow
@pytest.mark.parametrize("words", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
def test_something_else_answers(monkeypatch, words):
    monkeypatch.setattr("quietcrowd.scale.connecting.CONNECTING", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        ended = threading.Event()

        def answer():
            one, _ = server.accept()
            one.sendall(words)
            ended.wait()
            one.close()

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            with (
                pytest.raises(ConnectionError, match=f"no Dask scheduler answers at {address}"),
                connect(address),
            ):
                pass
        finally:
            ended.set()
            thread.join()


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(
    "address", ["tls://127.0.0.1:1", nightly("foo://127.0.0.1:1"), nightly("tcp://h:port")]
)
def test_addresses_that_dask_cannot_use_leave_no_client_half_begun(program, address):
    code = f"from quietcrowd.scale import connect\nwith connect({address!r}): pass"
    _, _, errors = program(sys.executable, "-c", code).finished()
    last = f"ConnectionError: no Dask scheduler answers at {address}: "
    assert errors.splitlines()[-1].startswith(last)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="it has other signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupts_wait_while_a_cluster_is_begun(number):
    def begin():
        with _interrupts_later():
            signal.raise_signal(number)
            begun.append(number)

    begun = []
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            begin()
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
    assert begun == [number]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()


def _blocked(results):
    results.put(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="it has other signals")
def test_interrupts_do_not_reach_what_a_cluster_begins():
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    with _interrupts_later():
        process = context.Process(target=_blocked, args=(results,))
        process.start()
    process.join()
    assert results.get()


@pytest.mark.nightly
@pytest.mark.slow
def test_a_missing_extra_is_one_sentence(program):
    code = (
        "import sys; sys.modules['distributed'] = None\n"
        "from quietcrowd.scale import connect\n"
        "with connect(): pass"
    )
    _, _, errors = program(sys.executable, "-c", code).finished()
    assert errors.splitlines()[-1] == (
        "quietcrowd.exceptions.MissingExtraError: "
        "a cluster needs Dask's distributed: install quietcrowd with the extra [scale], as "
        "pip install '.[scale]' in its source, or pip install 'FILE.whl[scale]'"
    )
