"""Installs PostgreSQL's programs from Debian's packages where there are none; starts no server.

Usage: python -m tests.campaign.install_postgresql

Asks nobody anything: where it may not install, it says so in one line, and ends with success.
"""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.campaign.postgresql import HOW_TO_GET_IT, find_programs

NO_CLUSTER = Path("/etc/postgresql-common/createcluster.d/no-main-cluster.conf")
APT = ["apt-get", "-qq", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold"]


def superuser() -> list[str] | None:
    """Return what stands before a command that root has to run; None where there is no way."""
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    if sudo is None:
        return None
    may = subprocess.run([sudo, "-n", "true"], capture_output=True, check=False)
    return None if may.returncode else [sudo, "-n"]


def install(root: list[str]) -> None:
    """Install the programs."""
    quietly = [*root, "env", "DEBIAN_FRONTEND=noninteractive"]
    commands = (
        [*quietly, *APT, "update"],
        # no server shall run beside those that the tests start
        [*root, "mkdir", "-p", str(NO_CLUSTER.parent)],
        [*root, "sh", "-c", f"echo 'create_main_cluster = false' > {NO_CLUSTER}"],
        [*quietly, *APT, "install", "--yes", "postgresql"],
    )
    for command in commands:
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.__stderr__, check=True)


def main() -> None:
    """Install, unless there is nothing to do or no way to do it; print one line."""
    if find_programs() is None and shutil.which("apt-get") is not None:
        root = superuser()
        if root is not None:
            with suppress(subprocess.CalledProcessError):  # apt-get has said why
                install(root)
    programs = find_programs()
    print(HOW_TO_GET_IT if programs is None else f"PostgreSQL for the tests: {programs}")


if __name__ == "__main__":
    main()
