"""deploy/compose.yaml: it fits the image, the settings and the files of nginx."""

import ipaddress
import shutil
from pathlib import Path

import pytest
import yaml
from tests.programs import finished

from quietcrowd.campaign.server.settings import Settings

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
SERVERS = {name: one for name, one in SERVICES.items() if name.startswith("server-")}
SAID = {
    "ADDRESS": "https://crowd.example.org",
    "DATABASE_PASSWORD": "one",
    "DEPARTURES_PASSWORD": "two",
    "CERTIFICATES": "/etc/quietcrowd/tls",
}


def filled(text):
    """Return a text with what a file .env would say."""
    for name, value in SAID.items():
        text = text.replace(f"${{{name}:?}}", value)
    assert "${" not in text
    return text


@pytest.mark.parametrize("name", [*SERVERS, "backup"])
def test_its_settings_are_those_of_a_server(name):
    told = SERVICES[name]["environment"]
    settings = {
        variable.removeprefix("QUIETCROWD_").lower(): filled(value)
        for variable, value in told.items()
    }
    assert set(settings) <= set(Settings.model_fields)
    one = Settings(**settings)
    assert one.database != one.withdrawal_log
    subnet = COMPOSE["networks"]["front"]["ipam"]["config"][0]["subnet"]
    assert ipaddress.ip_network(one.trusted_proxy) == ipaddress.ip_network(subnet)


def test_one_server_infers():
    assert ["--no-infer" in one.get("command", ()) for one in SERVERS.values()].count(False) == 1


def test_nothing_but_nginx_is_reached_from_outside():
    assert [name for name, one in SERVICES.items() if "ports" in one] == ["nginx"]
    for name, one in SERVICES.items():
        inside = all(COMPOSE["networks"][network].get("internal") for network in one["networks"])
        assert inside == (name != "nginx")
    # what is sent between nginx and the servers is not encrypted: nobody else is there
    front = {name for name, one in SERVICES.items() if "front" in one["networks"]}
    assert front == {"nginx", *SERVERS}


def test_nginx_knows_all_servers_and_all_of_its_files_are_there():
    upstream = (DEPLOY / "nginx" / "two-servers.conf").read_text()
    assert all(f"server {name}:8000 " in upstream for name in SERVERS)
    files = [one.split(":")[0] for one in SERVICES["nginx"]["volumes"] if one.startswith("./")]
    assert len(files) == 3
    assert all((DEPLOY / file).is_file() for file in files)


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
        pytest.skip("docker is not installed: nobody but the tests read deploy/compose.yaml")
    words = ["docker", "compose"]
    if finished(*words, "version").status:
        pytest.skip("docker compose is not installed: nobody but the tests read compose.yaml")
    env = tmp_path / ".env"
    env.write_text("".join(f"{name}={value}\n" for name, value in SAID.items()))
    file = str(DEPLOY / "compose.yaml")
    finished(*words, "--env-file", env, "-f", file, "config", "--quiet", check=True)
