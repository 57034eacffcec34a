"""The list of faults fits the package, and what seeds them tells a fault that survives."""

import pytest
from tests.faults import LIST, ROOT, main, read_faults

FAULTS = read_faults(LIST)
SOURCE = ROOT / "src" / "quietcrowd"

HARMLESS = """
[harmless]
file = "campaign/server/service.py"
old = "Return a 304 response."
new = "Return a response of 304."
tests = ["tests/campaign/server/test_service.py::test_what_is_known_is_not_sent_again"]
why = "No one reads another docstring."
"""

GRAVE = """
[grave]
file = "campaign/server/service.py"
old = "if_none_match == \\"*\\" or"
new = ""
tests = ["tests/campaign/server/test_service.py::test_what_is_known_is_told_by_its_tag"]
why = "A client gets again what it has."
"""


def test_every_package_has_faults():
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages <= {fault.file.partition("/")[0] for fault in FAULTS.values()}
    assert len(FAULTS) >= 60


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fits_its_file(name):
    fault = FAULTS[name]
    assert fault.seeded() != (SOURCE / fault.file).read_text("utf-8")
    assert all((ROOT / test.partition("::")[0]).is_file() for test in fault.tests)


@pytest.mark.slow
def test_a_fault_that_survives_is_told(tmp_path, capsys):
    listed = tmp_path / "faults.toml"
    listed.write_text(HARMLESS + GRAVE, "utf-8")
    assert main([], listed) == 1
    assert capsys.readouterr().out.splitlines() == [
        "harmless: survived: No one reads another docstring.",
        "grave: detected",
    ]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("of no file", "", "contains the old text 0 times"),
        ("def require_st", "def require_st", "contains the old text 2 times"),
        ("return if_none", "return return if_none", "invalid syntax"),
    ],
)
def test_a_fault_that_fits_no_longer_is_told(tmp_path, capsys, monkeypatch, old, new, told):
    monkeypatch.setattr("tests.faults.run_tests", lambda *_: (0, ""))
    listed = tmp_path / "faults.toml"
    listed.write_text(
        f'[stale]\nfile = "campaign/server/service.py"\nold = "{old}"\nnew = "{new}"\n'
        'tests = ["tests/campaign/server/test_service.py"]\nwhy = "It is stale."\n'
    )
    assert main(["stale"], listed) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("stale: stale: ")
    assert told in printed


@pytest.mark.parametrize(
    ("status", "summary", "words"),
    [
        (1, "1 failed, 2 passed in 0.10s", "detected"),
        (1, "1 error in 0.10s", "no test failed, but pytest ended with status 1"),
        (2, "1 error in 0.10s", "no test failed, but pytest ended with status 2"),
        (5, "no tests ran in 0.01s", "no test failed, but pytest ended with status 5"),
    ],
)
def test_only_a_test_that_fails_detects_a_fault(
    tmp_path, capsys, monkeypatch, status, summary, words
):
    ends = iter([(0, ""), (status, f"...\n{summary}\n")])
    monkeypatch.setattr("tests.faults.run_tests", lambda *_: next(ends))
    listed = tmp_path / "faults.toml"
    listed.write_text(GRAVE, "utf-8")
    assert main([], listed) == (words != "detected")
    assert capsys.readouterr().out.startswith(f"grave: {words}")


def test_tests_that_fail_anyway_end_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tests.faults.run_tests", lambda *_: (1, "1 failed in 0.10s"))
    listed = tmp_path / "faults.toml"
    listed.write_text(GRAVE, "utf-8")
    assert main([], listed) == 1
    assert "fail without a fault, too" in capsys.readouterr().err
    assert main(["unknown"], listed) == 2
