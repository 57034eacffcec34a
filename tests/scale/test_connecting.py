import socket
import subprocess
import sys

import pytest

import quietcrowd as qc
from quietcrowd.scale import connect


@pytest.mark.parametrize("scheduler", ["local:0", "10.0.0.1:8786", "locals", ""])
def test_what_is_no_scheduler(scheduler):
    with (
        pytest.raises(qc.ParameterError, match="tcp://host:port, local, or local:N"),
        connect(scheduler),
    ):
        pass


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


def test_a_missing_extra_is_one_sentence():
    code = (
        "import sys; sys.modules['distributed'] = None\n"
        "from quietcrowd.scale import connect\n"
        "with connect(): pass"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "quietcrowd.exceptions.MissingExtraError: "
        "a cluster needs Dask's distributed: pip install 'quietcrowd[scale]'"
    )
