"""The steps of deploy/Dockerfile in a clean Debian root, for machines without a Docker daemon.

What a Dockerfile of ours uses is understood, and nothing else. Instead of its base image there is a
Debian of the same release with Debian's Python of the same version.
"""

import json
import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import Factory, define
from tests.programs import Ended, Program, finished, running

BASE = "docker.io/library/python:3.13-slim-trixie"
RELEASE = "trixie"
PACKAGES = "python3,python3-dev,python3-venv,ca-certificates"
MIRROR = "http://deb.debian.org/debian"

OUTSIDE = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
"""What chroot, unshare and mount are found by."""

HOW_TO_GET_IT = (
    "the steps of deploy/Dockerfile are not tried: that needs root, and mmdebstrap, which make "
    "mmdebstrap installs on Debian"
)


def find_mmdebstrap() -> Path | None:
    """Return the program; None where it is not there, or nobody may use it."""
    found = shutil.which("mmdebstrap")
    return None if found is None or os.geteuid() else Path(found)


@define
class Image:
    """What the steps of a stage led to.

    Attributes
    ----------
    root : Path
        All of its files.
    environment : dict
        Of what runs in it.
    folder, user : str
        In which and as whom it runs.
    """

    root: Path
    environment: dict[str, str]
    folder: str = "/"
    user: str = "root"
    entrypoint: list[str] = Factory(list)
    command: list[str] = Factory(list)
    health: list[str] = Factory(list)
    volumes: list[str] = Factory(list)

    def words(self, *command: str) -> list[str]:
        """Return what runs a command in it."""
        setting = [f"{name}={value}" for name, value in self.environment.items()]
        inside = ["env", "--chdir", self.folder, *setting, *command]
        return ["chroot", f"--userspec={self.user}", str(self.root), *inside]

    def run(self, *command: str) -> Ended:
        return finished(*self.words(*command), env=OUTSIDE)


def instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """Return the instructions of a file, and their words."""
    lines = dockerfile.read_text().splitlines()
    told = [line for line in lines if line.strip() and not line.startswith("#")]
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in told)]


def build(dockerfile: Path, context: Path, folder: Path, base: Path) -> Image:
    """Take the steps of a file, and return the image of its last stage.

    Parameters
    ----------
    dockerfile, context : Path
        The file, and the folder from which it copies.
    folder : Path
        Where the roots of the stages are made.
    base : Path
        The root of the base image, as a tar file.
    """
    stages: dict[str, Image] = {}
    image = None
    for name, rest in instructions(dockerfile):
        if name == "FROM":
            source, _, title = rest.partition(" AS ")
            assert source == BASE, source
            image = new_root(folder / f"stage-{len(stages)}", base)
            stages[title or "last"] = image
        else:
            assert image is not None
            STEPS[name](image, rest, context, stages)
    assert image is not None
    return image


def new_root(root: Path, base: Path) -> Image:
    root.mkdir()
    finished("tar", "-xf", base, "-C", root, "--exclude=./dev/*", check=True)
    for path in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
        shutil.copyfile(f"/{path}", root / path)  # how this machine reaches others
    (root / "dev" / "null").touch()
    for device, numbers in {"null": (1, 3), "urandom": (1, 9), "random": (1, 8)}.items():
        (root / "dev" / device).unlink(missing_ok=True)
        os.mknod(root / "dev" / device, 0o20666, os.makedev(*numbers))
        (root / "dev" / device).chmod(0o666)
    return Image(root=root, environment={"PATH": "/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin"})


def run_step(image: Image, rest: str, _context: Path, _stages: object) -> None:
    passed = {name: os.environ[name] for name in ("PIP_CERT", "https_proxy") if name in os.environ}
    setting = [f"{name}={value}" for name, value in passed.items()]
    status, output, errors = image.run("env", *setting, "sh", "-c", rest)
    assert status == 0, f"RUN {rest}\n{output[-2000:]}\n{errors[-2000:]}"


def copy_step(image: Image, rest: str, context: Path, stages: dict[str, Image]) -> None:
    *sources, target = shlex.split(rest)
    if sources[0].startswith("--from="):
        context = stages[sources.pop(0).removeprefix("--from=")].root
    place = image.root / Path(image.folder, target).relative_to("/")
    for source in sources:
        found = context / source.lstrip("/")
        into = place / found.name if target.endswith("/") else place
        into.parent.mkdir(parents=True, exist_ok=True)
        if found.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(found, into, symlinks=True, dirs_exist_ok=True, ignore=ignored)
        else:
            shutil.copyfile(found, into)


def environment_step(image: Image, rest: str, *_: object) -> None:
    name, _, value = rest.partition("=")
    image.environment[name] = value


def folder_step(image: Image, rest: str, *_: object) -> None:
    image.folder = rest
    (image.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)


def user_step(image: Image, rest: str, *_: object) -> None:
    image.user = rest


def health_step(image: Image, rest: str, *_: object) -> None:
    image.health = json.loads(rest.partition(" CMD ")[2])


def entrypoint_step(image: Image, rest: str, *_: object) -> None:
    image.entrypoint = json.loads(rest)


def command_step(image: Image, rest: str, *_: object) -> None:
    image.command = json.loads(rest)


def volume_step(image: Image, rest: str, *_: object) -> None:
    image.volumes.append(rest)


def told_step(*_: object) -> None:
    """What a daemon is told, and changes no file."""


STEPS = {
    "RUN": run_step,
    "COPY": copy_step,
    "ENV": environment_step,
    "WORKDIR": folder_step,
    "USER": user_step,
    "HEALTHCHECK": health_step,
    "ENTRYPOINT": entrypoint_step,
    "CMD": command_step,
    "VOLUME": volume_step,
    "EXPOSE": told_step,
    "STOPSIGNAL": told_step,
}

READ_ONLY = """
set -e
root=$1; volumes=$2; shift 2
mount --bind "$root" "$root"
for volume in $volumes; do
    mkdir -p "$root.volumes$volume"
    cp -a "$root$volume/." "$root.volumes$volume"
    chown --reference="$root$volume" "$root.volumes$volume"
    mount --bind "$root.volumes$volume" "$root$volume"
done
mount -t tmpfs tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
exec "$@"
"""


@contextmanager
def run_read_only(image: Image, log: Path, *command: str) -> Iterator[Program]:
    """Give a process of an image whose root is read-only, as ``docker run --read-only`` gives."""
    words = image.words(*image.entrypoint, *command)
    outside = ["unshare", "--mount", "sh", "-c", READ_ONLY, "sh"]
    outside += [str(image.root), " ".join(image.volumes)]
    with (
        log.open("w") as said,
        running(*outside, *words, stderr=said, env=OUTSIDE) as server,
    ):
        yield server
