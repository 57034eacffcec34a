"""Debian's nginx with the configuration of deploy/nginx, before servers of this machine."""

import shutil
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
from attrs import frozen
from tests.campaign.ports import free_port
from tests.campaign.waiting import LONG, in_time
from tests.programs import finished, running

DEPLOY = Path(__file__).parents[2] / "deploy"

HOW_TO_GET_IT = (
    "nginx is not installed: its configuration is not tried. make nginx installs it on Debian, as "
    "root or with sudo; elsewhere put it on the PATH"
)


def find_nginx() -> Path | None:
    """Return the program; None where there is none that runs."""
    found = shutil.which("nginx")
    if found is None:
        return None
    return None if finished(found, "-v").status else Path(found)


@frozen(kw_only=True)
class Proxy:
    """nginx, and where it listens.

    Attributes
    ----------
    port : int
        Of HTTPS.
    plain_port : int
        Of HTTP.
    folder : Path
        Where all lies that it may write.
    trust : ssl.SSLContext
        Trusts its certificate.
    errors : Path
        What it says on standard error.
    """

    port: int
    plain_port: int
    folder: Path
    trust: ssl.SSLContext
    errors: Path

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"

    def written(self) -> dict[str, int]:
        """Return what it has written: the sizes of files, by their names."""
        files = (path for path in (self.folder / "written").rglob("*") if path.is_file())
        return {path.name: path.stat().st_size for path in files if path.name != "nginx.pid"}


def changed(text: str, **lines: str) -> str:
    """Return a configuration in which lines that are there are others."""
    for old, new in lines.items():
        assert old in text, f"deploy/nginx has no line {old!r} any more"
        text = text.replace(old, new)
    return text


def write_certificate(folder: Path) -> None:
    """Write a certificate for localhost that signs itself."""
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    words += ["-nodes", "-days", "2", "-subj", "/CN=localhost"]
    words += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    words += ["-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")]
    finished(*words, check=True)


def write_configuration(folder: Path, servers: Sequence[int], port: int, plain: int) -> Path:
    """Write what deploy/nginx says, with names, ports and folders of a test; return the file."""
    written = folder / "written"
    for place in (folder / "conf.d", folder / "tls", written):
        place.mkdir()
    write_certificate(folder / "tls")
    main = (DEPLOY / "nginx" / "nginx.conf").read_text()
    temporary = "\n".join(
        f"    {kind}_temp_path {written / kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = changed(
        main,
        **{
            "pid /run/nginx.pid;": f"pid {written / 'nginx.pid'};",
            "include mime.types;": "include /etc/nginx/mime.types;",
            "include conf.d/*.conf;": f"include {folder / 'conf.d'}/*.conf;\n{temporary}",
        },
    )
    site = changed(
        (DEPLOY / "nginx" / "quietcrowd.conf").read_text(),
        **{
            "crowd.example.org": "localhost",
            "/etc/nginx/tls": str(folder / "tls"),
            "    listen [::]:80;\n": "",
            "    listen [::]:80 default_server;\n": "",
            "    listen [::]:443 ssl;\n": "",
            "    listen [::]:443 ssl default_server;\n": "",
            "listen 80": f"listen 127.0.0.1:{plain}",
            "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        },
    )
    one = "    server 127.0.0.1:8000;"
    upstream = changed(
        (DEPLOY / "nginx" / "one-server.conf").read_text(),
        **{one: "\n".join(one.replace("8000", str(server)) for server in servers)},
    )
    (folder / "conf.d" / "quietcrowd.conf").write_text(site)
    (folder / "conf.d" / "servers.conf").write_text(upstream)
    file = folder / "nginx.conf"
    file.write_text(main)
    return file


@contextmanager
def nginx(program: Path, folder: Path, *servers: int) -> Iterator[Proxy]:
    """Give an nginx before servers at these ports."""
    port, plain = free_port(), free_port()
    file = write_configuration(folder, servers, port, plain)
    words = [program, "-p", folder, "-e", "stderr", "-c", file, "-g", "daemon off;"]
    errors = folder / "errors"
    trust = ssl.create_default_context(cafile=str(folder / "tls" / "fullchain.pem"))
    proxy = Proxy(port=port, plain_port=plain, folder=folder, trust=trust, errors=errors)
    with errors.open("w") as said, running(*words, stderr=said) as server:
        assert in_time(lambda: server.has_ended or _answers(proxy)), "it does not start"
        assert not server.has_ended, errors.read_text()
        yield proxy


def _answers(proxy: Proxy) -> bool:
    try:
        return (
            httpx.get(f"{proxy.url}/api/v1/healthz", verify=proxy.trust, timeout=LONG).status_code
            == 200
        )
    except httpx.TransportError:
        return False
