"""Seeds faults into copies of the package, and demands that the tests which it names fail.

``python -m tests.faults`` tries every fault of ``tests/faults.toml``; with names, only these.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import frozen

from quietcrowd import _core

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "faults.toml"
AT_A_TIME = 2

SITE = """
import sys
installed = "_editable_skbc_quietcrowd"
sys.meta_path[:] = [one for one in sys.meta_path if type(one).__module__ != installed]
"""
"""Python runs this when it starts: an editable install finds modules before PYTHONPATH does."""


@frozen(kw_only=True)
class Fault:
    """A mistake of one line: `tests` notice that `old` became `new` in `file` of src/quietcrowd."""

    name: str
    file: str
    old: str
    new: str
    tests: list[str]
    why: str

    def seeded(self) -> str:
        """Return the faulty text; ValueError if the fault fits the file no longer."""
        text = (ROOT / "src" / "quietcrowd" / self.file).read_text("utf-8")
        found = text.count(self.old)
        if found != 1:
            raise ValueError(f"{self.file} contains the old text {found} times")
        faulty = text.replace(self.old, self.new)
        if self.file.endswith(".py"):
            compile(faulty, self.file, "exec")
        return faulty


def read_faults(path: Path) -> dict[str, Fault]:
    """Return the faults of a file by name; it has a table for each."""
    tables = tomllib.loads(path.read_text("utf-8"))
    return {name: Fault(name=name, **table) for name, table in tables.items()}


@contextmanager
def copied() -> Iterator[Path]:
    """Copy the package into a temporary folder, from which Python can import it."""
    with TemporaryDirectory(prefix="quietcrowd-fault-") as folder:
        package = Path(folder, "quietcrowd")
        shutil.copytree(ROOT / "src" / "quietcrowd", package)
        shutil.copy2(_core.__file__, package)
        Path(folder, "sitecustomize.py").write_text(SITE, "utf-8")
        yield Path(folder)


def run_tests(folder: Path, tests: list[str]) -> tuple[int, str]:
    """Return pytest's status and output of some tests of the package in a folder."""
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    words = ["-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider"]
    words += ["-m", "", *tests]  # also those that run by night
    ended = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "QUIETCROWD_CI": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return ended.returncode, ended.stdout


def verdict(fault: Fault) -> str:
    """Seed a fault and run its tests; return "detected", or how it was not."""
    try:
        faulty = fault.seeded()
    except (SyntaxError, ValueError) as error:
        return f"stale: {error}"
    with copied() as folder:
        (folder / "quietcrowd" / fault.file).write_text(faulty, "utf-8")
        status, output = run_tests(folder, fault.tests)
    if status == 0:
        return f"survived: {fault.why}"
    summary = output.rstrip().rpartition("\n")[2]
    if status == 1 and " failed" in f" {summary}":
        return "detected"
    return f"no test failed, but pytest ended with status {status}: {summary}"


def main(names: list[str], path: Path = LIST) -> int:
    """Try faults, print a line for each, and return 1 unless all are detected."""
    faults = read_faults(path)
    unknown = [name for name in names if name not in faults]
    if unknown:
        print(f"no such fault: {', '.join(unknown)}", file=sys.stderr)
        return 2
    chosen = [faults[name] for name in names or faults]
    tests = list(dict.fromkeys(test for fault in chosen for test in fault.tests))
    with copied() as folder:
        status, output = run_tests(folder, tests)
    if status:
        print(f"{output}\nThese tests fail without a fault, too.", file=sys.stderr)
        return 1
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        verdicts = pool.map(verdict, chosen)
        for fault, words in zip(chosen, verdicts, strict=True):
            print(f"{fault.name}: {words}", flush=True)
            status |= words != "detected"
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
