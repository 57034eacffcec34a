"""The list of faults fits the package, and what seeds them tells a fault that survives."""

from contextlib import nullcontext

import pytest
from tests.faults import LIST, ROOT, main, read_faults

FAULTS = read_faults(LIST)
SOURCE = ROOT / "src" / "quietcrowd"

HARMLESS = """
[harmless]
file = "validation.py"
old = "a number above 0 and below 1"
new = "a number between 0 and 1"
tests = ["tests/test_validation.py::test_names"]
why = "No one reads another docstring."
"""

GRAVE = """
[grave]
file = "validation.py"
old = "0 < float(value) < 1"
new = "0 <= float(value) < 1"
tests = ["tests/test_validation.py::test_a_proportion_is_above_0_and_below_1"]
why = "A share of 0 divides by 0 later."
"""


@pytest.fixture
def uncopied(monkeypatch, tmp_path):
    """Seed faults into a folder without the package, where no test is run anyway."""
    (tmp_path / "quietcrowd").mkdir()
    monkeypatch.setattr("tests.faults.copied", lambda: nullcontext(tmp_path))


def test_every_package_has_faults():
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages <= {fault.file.partition("/")[0] for fault in FAULTS.values()}
    assert len(FAULTS) >= 60


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fits_its_file(name):
    fault = FAULTS[name]
    assert fault.seeded() != (SOURCE / fault.file).read_text("utf-8")
    assert all((ROOT / test.partition("::")[0]).is_file() for test in fault.tests)


@pytest.mark.nightly
@pytest.mark.slow
def test_a_fault_that_survives_is_told(tmp_path, capsys):
    listed = tmp_path / "faults.toml"
    listed.write_text(HARMLESS + GRAVE, "utf-8")
    assert main([], listed) == 1
    assert capsys.readouterr().out.splitlines() == [
        "harmless: survived: No one reads another docstring.",
        "grave: detected",
    ]


@pytest.mark.usefixtures("uncopied")
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("of no file", "", "contains the old text 0 times"),
        ("def check_p", "def check_p", "contains the old text 2 times"),
        ("return validate", "return return validate", "invalid syntax"),
    ],
)
def test_a_fault_that_fits_no_longer_is_told(tmp_path, capsys, monkeypatch, old, new, told):
    monkeypatch.setattr("tests.faults.run_tests", lambda *_: (0, ""))
    listed = tmp_path / "faults.toml"
    listed.write_text(
        f'[stale]\nfile = "validation.py"\nold = "{old}"\nnew = "{new}"\n'
        'tests = ["tests/test_validation.py"]\nwhy = "It is stale."\n'
    )
    assert main(["stale"], listed) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("stale: stale: ")
    assert told in printed


@pytest.mark.usefixtures("uncopied")
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


@pytest.mark.usefixtures("uncopied")
def test_tests_that_fail_anyway_end_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tests.faults.run_tests", lambda *_: (1, "1 failed in 0.10s"))
    listed = tmp_path / "faults.toml"
    listed.write_text(GRAVE, "utf-8")
    assert main([], listed) == 1
    assert "fail without a fault, too" in capsys.readouterr().err
    assert main(["unknown"], listed) == 2
