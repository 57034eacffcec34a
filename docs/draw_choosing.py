"""Work out every table and picture of ``docs/choosing.md``, by the commands that stand there.

``python docs/draw_choosing.py`` runs each command, writes what it prints behind it, and its
picture into ``docs/figures/``. It takes some minutes. All crowds are simulated from fixed seeds, so
that the same version writes the same page.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PAGE = Path(__file__).parent / "choosing.md"
FIGURES = Path(__file__).parent / "figures"
BLOCK = re.compile(
    r"^```sh\n(?P<command>quietcrowd plan .*?)\n```\n\n```output\n.*?^```$",
    re.MULTILINE | re.DOTALL,
)


def commands_of(page: str) -> list[str]:
    """Return the commands of the page whose output stands behind them."""
    return [found["command"] for found in BLOCK.finditer(page)]


def printed_by(command: str, folder: Path) -> str:
    """Run a command of the page in a folder, where its picture goes, and return what it prints."""
    words = shlex.split(command.replace("\\\n", " "))[1:]
    program = "from quietcrowd.commands.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        check=True,
        capture_output=True,
        cwd=folder,
        text=True,
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines())


def with_output(page: str, folder: Path) -> str:
    """Return the page with what its commands print now; pictures go into the folder."""

    def again(found: re.Match[str]) -> str:
        command = found["command"]
        return f"```sh\n{command}\n```\n\n```output\n{printed_by(command, folder)}\n```"

    return BLOCK.sub(again, page)


if __name__ == "__main__":
    with TemporaryDirectory() as drawn:
        PAGE.write_text(with_output(PAGE.read_text(), Path(drawn)))
        for picture in Path(drawn).iterdir():
            shutil.copyfile(picture, FIGURES / picture.name)
