"""Debian's Caddy with the configuration of deploy/, in front of servers of this machine."""

import os
import shutil
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from attrs import frozen
from tests.campaign.ports import free_port
from tests.campaign.waiting import LONG, in_time
from tests.programs import finished, running
from typing_extensions import override

CADDYFILE = Path(__file__).parents[2] / "deploy" / "Caddyfile"

NAME = "crowd.localhost"
"""Host name of the site. Chromium resolves it; other clients use `ByName`."""

HOW_TO_GET_IT = (
    "Caddy is not installed: its configuration is not tested. make caddy installs it on Debian, "
    "as root or with sudo; elsewhere put it on the PATH"
)


def find_caddy() -> Path | None:
    """Return the program, or None if none runs."""
    found = shutil.which("caddy")
    if found is None:
        return None
    return None if finished(found, "version").status else Path(found)


class ByName(httpx.HTTPTransport):
    """A client's transport that finds the site at 127.0.0.1, and verifies its certificate."""

    @override
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions = {**request.extensions, "sni_hostname": NAME}
        request.url = request.url.copy_with(host="127.0.0.1")
        return super().handle_request(request)


@frozen(kw_only=True)
class Proxy:
    """Caddy; `port` is that of HTTPS, and `errors` is its standard error."""

    port: int
    plain_port: int
    folder: Path
    errors: Path

    @property
    def url(self) -> str:
        """Address of the site."""
        return f"https://{NAME}:{self.port}"

    @property
    def authority(self) -> Path:
        """Certificate of Caddy's internal authority."""
        return self.folder / "storage" / "pki" / "authorities" / "local" / "root.crt"

    def transport(self, address: str = "127.0.0.1") -> ByName:
        """Return the transport of a client at an address of this machine."""
        trust = ssl.create_default_context(cafile=str(self.authority))
        return ByName(verify=trust, local_address=address)

    def traces(self) -> dict[str, bytes]:
        """Return everything that Caddy has written: its log and its files."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in files if ".lock" not in path.name}


def write_configuration(folder: Path, port: int, plain: int) -> Path:
    """Write deploy/Caddyfile with other ports, and with certificates of an internal authority."""
    text = CADDYFILE.read_text()
    instead = {
        "\tadmin off\n": "\tadmin off\n"
        f"\thttp_port {plain}\n\thttps_port {port}\n\tdefault_bind 127.0.0.1\n"
        f"\tskip_install_trust\n\tstorage file_system {folder / 'storage'}\n",
        "{$DOMAIN} {\n": "{$DOMAIN} {\n\ttls internal\n",
    }
    for old, new in instead.items():
        assert text.count(old) == 1, f"deploy/Caddyfile does not contain {old!r} once"
        text = text.replace(old, new)
    file = folder / "Caddyfile"
    file.write_text(text)
    return file


@contextmanager
def caddy(program: Path, folder: Path, *servers: int) -> Iterator[Proxy]:
    """Run Caddy in front of servers at these ports."""
    port, plain = free_port(), free_port()
    file = write_configuration(folder, port, plain)
    environment = {
        **os.environ,
        "DOMAIN": NAME,
        "SERVERS": " ".join(f"127.0.0.1:{server}" for server in servers),
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / "configuration"),
    }
    proxy = Proxy(port=port, plain_port=plain, folder=folder, errors=folder / "errors")
    words = [program, "run", "--config", file, "--adapter", "caddyfile"]
    with proxy.errors.open("w") as said, running(*words, stderr=said, env=environment) as server:
        assert in_time(lambda: server.has_ended or _answers(proxy)), "it does not start"
        assert not server.has_ended, proxy.errors.read_text()
        yield proxy


def _answers(proxy: Proxy) -> bool:
    if not proxy.authority.exists():
        return False
    try:
        with httpx.Client(transport=proxy.transport(), timeout=LONG) as client:
            return client.get(f"{proxy.url}/api/v1/healthz").status_code == 200
    except (httpx.TransportError, ssl.SSLError):
        return False
