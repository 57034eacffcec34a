"""`install_postgresql`, which brings the tests of the service their PostgreSQL."""

import os
import subprocess

import pytest
from tests.campaign import install_postgresql, postgresql

PROGRAM = "#!/bin/sh\necho {answer}\nexit {status}\n"


def write_program(folder, name, answer="", status=0):
    program = folder / name
    program.write_text(PROGRAM.format(answer=answer, status=status))
    program.chmod(0o755)


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """Make a machine without PostgreSQL, on which root runs programs as anybody."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgresql, "DEBIAN", tmp_path / "none")
    monkeypatch.setattr(postgresql, "runner", list)
    return tmp_path


@pytest.mark.usefixtures("bare")
def test_without_postgresql_there_is_one_line(capsys):
    assert postgresql.find_programs() is None
    install_postgresql.main()
    printed, errors = capsys.readouterr()
    assert printed == f"{postgresql.HOW_TO_GET_IT}\n"
    assert len(printed.splitlines()) == 1
    assert errors == ""


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


def test_who_may_not_install_is_asked_nothing(bare, monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    write_program(bare, "apt-get", status=1)
    assert install_postgresql.superuser() is None
    write_program(bare, "sudo", status=1)
    assert install_postgresql.superuser() is None
    install_postgresql.main()
    assert capsys.readouterr().out == f"{postgresql.HOW_TO_GET_IT}\n"


def test_what_is_installed_is_programs_and_no_server(bare, monkeypatch, capsys):
    write_program(bare, "apt-get")
    write_program(bare, "sudo")
    commands = []

    def run(command, **options):
        commands.append([*map(str, command)])
        assert "stdin" in options or command[-1] == "true"
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(install_postgresql.subprocess, "run", run)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    install_postgresql.main()
    assert all(command[0] == str(bare / "sudo") and command[1] == "-n" for command in commands)
    told = [" ".join(command[2:]) for command in commands]
    assert "create_main_cluster = false" in told[-2]
    assert told[-1].endswith("install --yes postgresql")
    assert capsys.readouterr().out == f"{postgresql.HOW_TO_GET_IT}\n"


def test_a_failure_of_apt_is_no_failure(bare, monkeypatch, capsys):
    write_program(bare, "apt-get", status=100)
    write_program(bare, "env", status=100)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    install_postgresql.main()
    assert capsys.readouterr().out == f"{postgresql.HOW_TO_GET_IT}\n"
