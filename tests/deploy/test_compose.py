"""deploy/compose.yaml: it fits the image, the settings and the configuration of Caddy."""

import ipaddress
import re
import shutil
from pathlib import Path

import psycopg
import pytest
import yaml
from tests.campaign.postgresql import HOW_TO_GET_IT, find_programs, postgresql
from tests.campaign.server_process import server_process
from tests.programs import QUIETCROWD, finished

from quietcrowd.campaign.server.settings import read_settings

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
SERVERS = {name: one for name, one in SERVICES.items() if name.startswith("server-")}
DOMAIN = "crowd.example.org"


@pytest.mark.parametrize("name", [*SERVERS, "backup", "key"])
def test_its_settings_are_those_of_a_server(name, monkeypatch):
    for variable, value in SERVICES[name]["environment"].items():
        monkeypatch.setenv(variable, str(value).replace("${DOMAIN:?}", DOMAIN))
    one = read_settings(None, {})
    assert one.public_url == f"https://{DOMAIN}"
    assert one.database != one.withdrawal_log
    for url, database in ((one.database, "database"), (one.withdrawal_log, "departures")):
        place = url.partition("?host=")[2]
        assert f"{database}-socket:{place}:ro" in SERVICES[name]["volumes"]
        assert f"{database}-socket:/var/run/postgresql" in SERVICES[database]["volumes"]
    subnet = COMPOSE["networks"]["front"]["ipam"]["config"][0]["subnet"]
    assert ipaddress.ip_network(one.trusted_proxy) == ipaddress.ip_network(subnet)


def test_one_server_infers():
    assert ["--no-infer" in one.get("command", ()) for one in SERVERS.values()].count(False) == 1


def test_nothing_but_caddy_is_reached_from_outside():
    assert [name for name, one in SERVICES.items() if "ports" in one] == ["caddy"]
    # what is sent between Caddy and the servers is not encrypted: nothing else is there
    networks = {name: one["networks"] for name, one in SERVICES.items() if "networks" in one}
    assert networks == {"caddy": ["front", "outside"], **{name: ["front"] for name in SERVERS}}
    assert COMPOSE["networks"]["front"]["internal"]
    for name in set(SERVICES) - set(networks):
        assert SERVICES[name]["network_mode"] == "none", name


def test_postgresql_without_passwords_listens_at_its_socket_only():
    for name in ("database", "departures"):
        assert SERVICES[name]["command"] == ["postgres", "-c", "listen_addresses="]


@pytest.mark.nightly
def test_servers_and_copies_reach_postgresql_by_its_socket(tmp_path):
    programs = find_programs()
    if programs is None:
        pytest.skip(HOW_TO_GET_IT)
    told = SERVICES["server-1"]["environment"]
    with postgresql(programs) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            for one in ("ROLE crowd SUPERUSER LOGIN", "DATABASE crowd", "DATABASE departures"):
                connection.execute(f"CREATE {one}")
        database, journal = (
            re.sub("host=.*", f"host={server.folder}&port={server.port}", told[name])
            for name in ("QUIETCROWD_DATABASE", "QUIETCROWD_WITHDRAWAL_LOG")
        )
        places = ("--database", database, "--withdrawal-log", journal)
        with server_process(database, tmp_path / "log", *places[2:]):
            copies = tmp_path / "copies"
            copies.mkdir()
            finished(*QUIETCROWD, "admin", "backup", copies, *places, check=True)
    assert list(copies.glob("*.copy-*/database.dump"))


def test_caddy_knows_all_servers_and_its_configuration():
    caddy = SERVICES["caddy"]
    assert caddy["environment"]["SERVERS"].split() == [f"{name}:8000" for name in SERVERS]
    variables = set(re.findall(r"{\$(\w+)", (DEPLOY / "Caddyfile").read_text()))
    assert variables == set(caddy["environment"])
    assert (DEPLOY / caddy["volumes"][0].split(":")[0]).is_file()


def test_a_key_is_printed_when_asked_for_and_never_logged():
    key = SERVICES["key"]
    assert key["profiles"] == ["key"]
    assert key["logging"] == {"driver": "none"}
    started = {*key["depends_on"], *SERVICES["server-1"]["depends_on"], "key"}
    assert started == set(SERVICES)


def test_every_volume_is_named_and_used():
    used = {
        volume.split(":")[0]
        for one in SERVICES.values()
        for volume in one["volumes"]
        if not volume.startswith((".", "$"))
    }
    assert used == set(COMPOSE["volumes"])


def test_what_runs_is_confined():
    for name, one in SERVICES.items():
        assert one["security_opt"] == ["no-new-privileges:true"], name
        postgresql = "postgres:" in one.get("image", "")
        assert one.get("read_only", False) != postgresql, name


def test_docker_takes_it(tmp_path):
    if shutil.which("docker") is None:
        pytest.skip("docker is not installed: only the tests read deploy/compose.yaml")
    words = ["docker", "compose"]
    if finished(*words, "version").status:
        pytest.skip("docker compose is not installed: only the tests read deploy/compose.yaml")
    env = tmp_path / ".env"
    env.write_text(f"DOMAIN={DOMAIN}\n")
    file = str(DEPLOY / "compose.yaml")
    finished(*words, "--env-file", env, "-f", file, "config", "--quiet", check=True)
