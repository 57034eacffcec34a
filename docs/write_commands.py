"""Write the table of all commands: ``python docs/write_commands.py``."""

import re
from collections.abc import Iterator
from pathlib import Path

from quietcrowd.commands.app import COMMANDS

PAGE = Path(__file__).parent / "reference" / "command-line.md"
TABLE = re.compile(r"^\| command \|.*?\n\n", re.MULTILINE | re.DOTALL)


def _rows(commands: dict, before: str = "") -> Iterator[str]:
    for name, (description, place) in commands.items():
        if isinstance(place, str):
            yield f"| `{before}{name}` | {description} |"
        else:
            yield from _rows(place, f"{before}{name} ")


def table() -> str:
    """Return the table, with a row for each command."""
    return "\n".join(["| command | description |", "|---|---|", *_rows(COMMANDS), "", ""])


if __name__ == "__main__":
    PAGE.write_text(TABLE.sub(lambda _: table(), PAGE.read_text()))
