"""deploy/systemd: what systemd says of the units, and what they are allowed."""

import os
import re
import shutil
from pathlib import Path

import pytest
from tests.programs import finished

from quietcrowd.campaign.server.settings import read_settings

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
SERVICES = ("quietcrowd-server.service", "quietcrowd-backup.service")
PROGRAM = "/opt/quietcrowd/bin/quietcrowd"

MOST = 1.5
"""Of 10, which systemd calls the exposure: 2 and less is the best of its grades."""


@pytest.fixture
def analyze(tmp_path):
    """Give systemd-analyze over the units, with a program that is there."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed: deploy/systemd is not tried")
    folder = tmp_path / "systemd"
    shutil.copytree(UNITS, folder)
    for unit in folder.glob("*.service"):
        unit.write_text(unit.read_text().replace(PROGRAM, "/bin/true"))

    def run(*words):
        return finished(program, *words, env={**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:"})

    return run


@pytest.mark.parametrize("unit", [*SERVICES, "quietcrowd-backup.timer"])
def test_systemd_understands_every_line(analyze, unit):
    told = analyze("verify", "--man=no", unit)
    ours = [line for line in told.errors.splitlines() if "quietcrowd" in line]
    # a machine without journald's socket for a namespace has another systemd than it boots with
    assert [line for line in ours if "journald" not in line] == []


@pytest.mark.parametrize("unit", SERVICES)
def test_little_is_left_to_who_takes_a_service_over(analyze, unit):
    told = analyze("security", "--offline=true", f"--threshold={MOST * 10:g}", unit)
    assert told.status == 0, told.output[-300:] + told.errors


def test_the_settings_are_those_of_the_server(monkeypatch):
    lines = (UNITS / "quietcrowd.env").read_text().splitlines()
    told = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert read_settings(None, {}).public_url == told["QUIETCROWD_PUBLIC_URL"]


def test_both_services_run_the_program_that_the_script_installs():
    for unit in SERVICES:
        started = re.findall("^ExecStart=(.*)$", (UNITS / unit).read_text(), re.MULTILINE)
        assert [words.split()[0] for words in started] == [PROGRAM]
    assert PROGRAM in (UNITS.parent / "quietcrowd-admin").read_text()
    assert "python3 -m venv /opt/quietcrowd\n" in (UNITS.parent / "install.sh").read_text()
