import importlib
import subprocess
import sys

import pytest

import quietcrowd.campaign
from quietcrowd.exceptions import MissingExtraError


def test_a_missing_extra_is_one_sentence(monkeypatch):
    with monkeypatch.context() as without:
        without.setattr("importlib.util.find_spec", lambda _: None)
        with pytest.raises(MissingExtraError, match=r"quietcrowd\[campaign\]"):
            importlib.reload(quietcrowd.campaign)
    importlib.reload(quietcrowd.campaign)


def test_nothing_else_needs_the_extra():
    code = (
        "import sys, quietcrowd.cli, quietcrowd as qc; qc.Reports; qc.WeightedVote;"
        "sys.exit(any(n in sys.modules for n in ('fastapi', 'sqlalchemy', 'uvicorn', 'httpx')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
