"""deploy/install.sh: every step in a clean Debian, without the services of systemd."""

import os
import re
import shutil
from pathlib import Path

import httpx
import pytest
from tests.campaign.ports import free_port
from tests.campaign.server_process import base_url, wait_until_ready
from tests.campaign.waiting import LONG
from tests.deploy import container
from tests.programs import finished, running

REPOSITORY = Path(__file__).parents[2]
RELEASE = "bookworm"
DOMAIN = "birds.example.net"

SYSTEMCTL = """\
#!/bin/sh
echo "$*" >>/var/log/systemctl
"""

SYSTEMD_RUN = """\
#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift; done
install -d -m 0700 -o quietcrowd -g quietcrowd /var/lib/quietcrowd
cd /var/lib/quietcrowd
set -a
. /etc/quietcrowd/quietcrowd.env
exec setpriv --reuid=quietcrowd --regid=quietcrowd --clear-groups "$@"
"""
"""Both do what systemd does on a machine that it has started."""


@pytest.fixture(scope="module")
def debian(tmp_path_factory):
    """Give the root of a Debian that contains the source, and no systemd."""
    program = container.find_mmdebstrap()
    if program is None:
        pytest.skip(container.HOW_TO_GET_IT)
    folder = tmp_path_factory.mktemp("debian")
    base = folder / "base.tar"
    words = [program, "--quiet", "--variant=minbase", f"--include={container.PACKAGES}"]
    finished(*words, RELEASE, base, container.MIRROR, check=True)
    image = container.new_root(folder / "root", base)
    listed = finished("git", "-C", REPOSITORY, "ls-files", "-z", check=True).output
    for name in filter(None, listed.split("\0")):
        if name.startswith(("core/", "deploy/", "src/")) or "/" not in name:
            target = image.root / "source" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, target)
    for name, text in {"systemctl": SYSTEMCTL, "systemd-run": SYSTEMD_RUN}.items():
        script = image.root / "usr" / "local" / "sbin" / name
        script.write_text(text)
        script.chmod(0o755)
    yield image
    finished("rm", "-rf", folder)


def install(debian):
    """Return what the script prints."""
    passed = ("PIP_CERT", "https_proxy", "http_proxy")
    setting = [f"{name}={os.environ[name]}" for name in passed if name in os.environ]
    setting += ["SKBUILD_CMAKE_BUILD_TYPE=Debug"]  # the core is compiled sooner
    setting += ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
    words = ["env", *setting, "DEBIAN_FRONTEND=noninteractive"]
    told = debian.run(*words, "sh", "/source/deploy/install.sh", DOMAIN)
    assert told.status == 0, told.output[-1000:] + told.errors[-2000:]
    return told.output


@pytest.mark.nightly
def test_it_installs_a_server_and_prints_a_key_once(debian):
    first = install(debian)
    (key,) = re.findall(r"^qck_\S+$", first, re.MULTILINE)
    assert f"https://{DOMAIN}/dashboard/" in first
    assert "qck_" not in install(debian)
    root = debian.root
    settings = root / "etc" / "quietcrowd" / "quietcrowd.env"
    assert settings.stat().st_mode & 0o777 == 0o600
    assert f"QUIETCROWD_PUBLIC_URL=https://{DOMAIN}\n" in settings.read_text()
    for unit in (REPOSITORY / "deploy" / "systemd").glob("*.[st]*"):
        assert (root / "etc" / "systemd" / "system" / unit.name).exists() or unit.suffix == ".d"
    assert debian.run("caddy", "validate", "--config", "/etc/caddy/Caddyfile").status == 0
    assert f"\n{DOMAIN} {{\n" in (root / "etc" / "caddy" / "Caddyfile").read_text()
    done = (root / "var" / "log" / "systemctl").read_text().splitlines()
    services = "quietcrowd-server.service quietcrowd-backup.timer caddy.service"
    assert [line for line in done if services in line] == [
        f"enable {services}",
        f"restart {services}",
    ] * 2

    port = free_port()
    served = ["systemd-run", "/opt/quietcrowd/bin/quietcrowd", "serve", "--port", str(port)]
    words = debian.words("/usr/local/sbin/" + served[0], *served[1:])
    with running(*words, env=container.OUTSIDE) as server:
        wait_until_ready(base_url(port), lambda: not server.has_ended)
        authorized = {"Authorization": f"Bearer {key}"}
        found = httpx.get(f"{base_url(port)}/campaigns", headers=authorized, timeout=LONG)
        assert found.status_code == 200
