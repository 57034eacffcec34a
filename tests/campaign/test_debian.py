"""`debian`, which brings the tests their PostgreSQL, Chromium, Prometheus, Caddy and PgBouncer."""

import io
import os
import subprocess

import pytest
from tests.campaign import debian, postgresql
from tests.campaign.install_postgresql import POSTGRESQL
from tests.campaign.install_prometheus import PROMETHEUS
from tests.campaign.web import browser
from tests.campaign.web.install_chromium import CHROMIUM, HEADLESS_SHELL
from tests.deploy.install_caddy import CADDY
from tests.deploy.install_pgbouncer import PGBOUNCER

PROGRAM = "#!/bin/sh\necho {answer}\nexit {status}\n"


def write_program(folder, name, answer="", status=0):
    program = folder / name
    program.write_text(PROGRAM.format(answer=answer, status=status))
    program.chmod(0o755)


all_of_them = pytest.mark.parametrize(
    "program",
    [POSTGRESQL, CHROMIUM, HEADLESS_SHELL, PROMETHEUS, CADDY, PGBOUNCER],
    ids=lambda one: one.name,
)


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """Make a machine without programs, on which root runs PostgreSQL's as anybody."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgresql, "DEBIAN", tmp_path / "none")
    monkeypatch.setattr(postgresql, "runner", list)
    return tmp_path


@all_of_them
@pytest.mark.usefixtures("bare")
def test_without_a_program_there_is_one_line(program, capsys):
    assert program.find() is None
    program.provide()
    printed, errors = capsys.readouterr()
    assert printed == f"{program.how_to_get_it}\n"
    assert len(printed.splitlines()) == 1
    assert printed.startswith(f"{program.name} is not installed: ")
    assert errors == ""


def test_chromium_is_found_under_either_name(bare, capsys):
    for name in ("chromium-browser", "chromium"):
        write_program(bare, name)
        assert browser.find_chromium() == bare / name
    CHROMIUM.provide()
    assert capsys.readouterr().out == f"Chromium for the tests: {bare / 'chromium'}\n"


@pytest.mark.usefixtures("bare")
def test_without_chromium_tests_of_pages_are_skipped_and_fail_where_all_must_run(monkeypatch):
    monkeypatch.delenv("QUIETCROWD_CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="make chromium"), browser.chromium():
        pass
    monkeypatch.setenv("QUIETCROWD_CI", "1")
    with pytest.raises(pytest.fail.Exception, match="make chromium"), browser.chromium():
        pass


def test_programs_are_found_on_the_path_and_where_debian_has_them(bare, monkeypatch):
    for place in (bare, bare / "debian" / "9" / "bin", bare / "debian" / "15" / "bin"):
        place.mkdir(parents=True, exist_ok=True)
        for name in ("initdb", "pg_ctl", "postgres"):
            write_program(place, name)
    assert postgresql.find_programs() == bare
    (bare / "postgres").unlink()
    assert postgresql.find_programs() is None
    monkeypatch.setattr(postgresql, "DEBIAN", bare / "debian")
    assert postgresql.find_programs() == bare / "debian" / "15" / "bin"
    write_program(bare / "debian" / "15" / "bin", "postgres", status=1)
    assert postgresql.find_programs() == bare / "debian" / "9" / "bin"


def test_pg_config_says_where_the_programs_are(bare):
    place = bare / "elsewhere"
    place.mkdir()
    write_program(bare, "pg_config", answer=place)
    assert postgresql.find_programs() is None
    for name in ("initdb", "pg_ctl", "postgres"):
        write_program(place, name)
    assert postgresql.find_programs() == place


@all_of_them
def test_who_may_not_install_is_asked_nothing(program, bare, monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    write_program(bare, "apt-get", status=1)
    assert debian.superuser() is None
    write_program(bare, "sudo", status=1)
    assert debian.superuser() is None
    program.provide()
    assert capsys.readouterr().out == f"{program.how_to_get_it}\n"


class Terminal(io.StringIO):
    """What a person types, and then nothing."""

    def isatty(self):
        return True


@all_of_them
@pytest.mark.parametrize(
    ("typed", "installed"),
    [("y\n", True), (" Yes \n", True), ("\n", False), ("n\n", False), ("", False)],
)
def test_a_person_at_a_terminal_is_asked_first(program, typed, installed, bare, monkeypatch):
    write_program(bare, "apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("QUIETCROWD_CI", raising=False)
    screen = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stdout", screen)
    ran = []
    monkeypatch.setattr(debian.subprocess, "run", lambda command, **_: ran.append(command))
    program.provide()
    assert screen.getvalue().count(f"Install {program.name} for the tests") == 1
    assert screen.getvalue().endswith(f"{program.how_to_get_it}\n")
    assert bool(ran) == installed


@pytest.mark.usefixtures("bare")
def test_nobody_is_asked_where_all_tests_must_run(monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("QUIETCROWD_CI", "1")
    assert debian.agreed("PostgreSQL")
    monkeypatch.delenv("QUIETCROWD_CI")
    assert not debian.agreed("PostgreSQL")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert debian.agreed("PostgreSQL")


@all_of_them
def test_what_is_installed_is_programs_and_no_server(program, bare, monkeypatch, capsys):
    write_program(bare, "apt-get")
    write_program(bare, "sudo")
    commands = []

    def run(command, **options):
        commands.append([*map(str, command)])
        assert "stdin" in options or command[-1] == "true"
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(debian.subprocess, "run", run)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    program.provide()
    assert all(command[0] == str(bare / "sudo") and command[1] == "-n" for command in commands)
    told = [" ".join(command[2:]) for command in commands]
    assert ("create_main_cluster = false" in told[-2]) == (program is POSTGRESQL)
    assert told[-1].endswith(f"install --yes {program.package}")
    assert capsys.readouterr().out == f"{program.how_to_get_it}\n"


@all_of_them
def test_a_failure_of_apt_is_no_failure(program, bare, monkeypatch, capsys):
    write_program(bare, "apt-get", status=100)
    write_program(bare, "env", status=100)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    program.provide()
    assert capsys.readouterr().out == f"{program.how_to_get_it}\n"
