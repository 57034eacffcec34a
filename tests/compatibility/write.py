"""Write, with the version that is installed, what later versions have to read.

    python -m tests.compatibility.write                 writes tests/compatibility/written
    python -m tests.compatibility.write --exact FOLDER  writes, to the last bit, what two versions
                                                        on one machine have to agree in

The second changes nothing that is committed. Run it in two trees, and compare the two folders with
``diff -r``: it also writes what this version finds in the committed files, what its commands say,
and what its server's interface is.
"""

import argparse
import json
import shutil
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.compatibility.files import write_files, write_json
from tests.compatibility.inferring import estimates, is_exact
from tests.compatibility.spelling import in_hex
from tests.compatibility.stating import EXACT, statements

HERE = Path(__file__).parent
WRITTEN = HERE / "written"


def write() -> None:
    """Write all files anew."""
    from tests.compatibility.campaigns import write_campaigns
    from tests.compatibility.memos import write_memos

    shutil.rmtree(WRITTEN, ignore_errors=True)
    WRITTEN.mkdir()
    names = ("quietcrowd", "numpy", "pyarrow", "sqlalchemy")
    write_json(WRITTEN / "versions.json", {name: version(name) for name in names})
    write_files(WRITTEN)
    write_json(WRITTEN / "estimates.json.gz", computed(estimates(WRITTEN), is_exact))
    stated = computed(statements(WRITTEN), lambda name: name.startswith(EXACT))
    write_json(WRITTEN / "statements.json.gz", stated)
    write_memos(WRITTEN / "memos")
    write_campaigns(WRITTEN / "campaigns")


def computed(
    cases: Iterable[tuple[str, Callable[[], Any]]], exact: Callable[[str], bool]
) -> dict[str, Any]:
    """Return what all cases give, and which of it is the same on every machine."""
    return {name: {"exact": exact(name), "value": compute()} for name, compute in cases}


def write_exact(folder: Path) -> None:
    """Write all that is the same each time on one machine, floats bit by bit."""
    from tests.compatibility.commands import write_commands
    from tests.compatibility.observing import write_observed

    folder.mkdir(parents=True)
    write_files(folder / "files")
    for name, cases in (("estimates", estimates), ("statements", statements)):
        found = {one: in_hex(compute()) for one, compute in cases(folder / "files")}
        write_json(folder / f"{name}.json", found)
    write_observed(WRITTEN, folder / "observed.json")
    write_commands(folder / "files", folder / "commands")


def main() -> None:
    """Do what the words on the command line say."""
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("--exact", type=Path, metavar="FOLDER")
    asked = words.parse_args()
    if asked.exact is None:
        write()
        size = sum(path.stat().st_size for path in WRITTEN.rglob("*") if path.is_file())
        print(json.dumps({"folder": str(WRITTEN.relative_to(HERE.parent.parent)), "bytes": size}))
    else:
        write_exact(asked.exact)


if __name__ == "__main__":
    main()
