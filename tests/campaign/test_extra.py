import sys

import pytest

from quietcrowd.campaign import extra
from quietcrowd.exceptions import MissingExtraError


@pytest.mark.parametrize(
    ("require", "name"),
    [
        (extra.require_server, "uvicorn"),
        (extra.require_client, "httpx"),
        (extra.require_client, "platformdirs"),
    ],
)
def test_a_missing_extra_is_one_sentence(monkeypatch, require, name):
    require()
    monkeypatch.setattr(extra, "find_spec", lambda wanted: None if wanted == name else object())
    with pytest.raises(MissingExtraError, match=r"with the extra \[campaign\]"):
        require()


@pytest.mark.parametrize(
    "words",
    [
        ("serve",),
        ("demo",),
        ("admin", "create-key", "me"),
        ("admin", "backup", "copy.db"),
        ("admin", "restore", "copy.db"),
        ("admin", "migrate"),
        ("campaign", "open", 32 * "0"),
        ("worker", "answer", "https://crowd.example/j/" + 32 * "0"),
    ],
)
def test_commands_say_what_is_missing(monkeypatch, run, words):
    monkeypatch.setattr(extra, "find_spec", lambda _: None)
    status, _, errors = run(*words)
    assert status == 2
    assert "pip install '.[campaign]' in its source" in errors


@pytest.mark.nightly
@pytest.mark.slow
def test_nothing_else_needs_the_extra(program):
    code = (
        "import sys, quietcrowd.commands.app, quietcrowd as qc; qc.Reports; qc.WeightedVote;"
        "sys.exit(any(n in sys.modules for n in ('fastapi', 'sqlalchemy', 'uvicorn', 'httpx')))"
    )
    program(sys.executable, "-c", code).finished(check=True)
