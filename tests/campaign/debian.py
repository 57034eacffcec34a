"""Brings the tests a program from Debian's packages, where there is none and one may install it.

Whoever sits at a terminal is asked first. Without one, and with QUIETCROWD_CI set, nobody is. Where
it may not install, it says so in one line, and ends with success.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from attrs import frozen

APT = ["apt-get", "-qq", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold"]


@frozen(kw_only=True)
class Program:
    """What tests need beside Python.

    Attributes
    ----------
    name : str
        What people call it.
    package : str
        Of Debian.
    find : callable
        Returns where it is; None where it cannot be run.
    how_to_get_it : str
        One line, for who may not install it here.
    before : sequence of commands
        What root has to run before it is installed.
    """

    name: str
    package: str
    find: Callable[[], Path | None]
    how_to_get_it: str
    before: Sequence[Sequence[str]] = ()

    def provide(self) -> None:
        """Install it, unless there is nothing to do or no way to do it; print one line."""
        if self.find() is None and shutil.which("apt-get") is not None:
            root = superuser()
            if root is not None and agreed(self.name):
                with suppress(subprocess.CalledProcessError):  # apt-get has said why
                    self._install(root)
        place = self.find()
        print(self.how_to_get_it if place is None else f"{self.name} for the tests: {place}")

    def _install(self, root: Sequence[str]) -> None:
        quietly = [*root, "env", "DEBIAN_FRONTEND=noninteractive"]
        commands = (
            [*quietly, *APT, "update"],
            *([*root, *command] for command in self.before),
            [*quietly, *APT, "install", "--yes", self.package],
        )
        for command in commands:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.__stderr__, check=True)


def agreed(name: str) -> bool:
    """Ask the person at the terminal whether to install a program; where there is none, yes."""
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not at_terminal or os.environ.get("QUIETCROWD_CI"):
        return True
    try:
        answer = input(f"Install {name} for the tests, by apt-get as root? [y/N] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")


def superuser() -> list[str] | None:
    """Return what stands before a command that root has to run; None where there is no way."""
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    if sudo is None:
        return None
    may = subprocess.run([sudo, "-n", "true"], capture_output=True, check=False)
    return None if may.returncode else [sudo, "-n"]
