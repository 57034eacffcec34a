"""What a stranger does first: the README and all pages, from a wheel, in an empty folder."""

import sys
import sysconfig
from pathlib import Path

import pytest
from filelock import FileLock
from tests.nightly import nightly
from tests.programs import finished

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").rglob("*.md"))
TOOLS = Path(sys.executable).parent

RUN = """
import contextlib, io, re, sys

[path] = sys.argv[1:]
names, printed, ran = {"__name__": "__main__"}, None, 0
for language, text in re.findall(r"^```(\\w+)\\n(.*?)^```$", open(path).read(), re.M | re.S):
    if language == "python":
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(text, path, "exec"), names)
        printed, ran = output.getvalue(), ran + 1
    elif language == "text":
        assert printed == text, f"{printed}, not {text}"
print(ran)
"""
"""Runs the blocks of a page, and compares what they print."""


def uv(*words):
    finished(TOOLS / "uv", *words, cwd=ROOT, check=True)


@pytest.fixture(scope="session")
def stranger(tmp_path_factory, worker_id):
    """Return the programs of a new environment with the wheel: made once for all processes.

    What the wheel depends on is found beside the tests; `test_distributions` installs that, too.
    """
    own = tmp_path_factory.getbasetemp()
    place = (own if worker_id == "master" else own.parent) / "stranger"
    with FileLock(f"{place}.lock"):
        if not place.exists():
            wheels, python = place.with_name("wheels"), ("--python", sys.executable)
            uv(
                "build",
                "--wheel",
                "--quiet",
                "--no-build-isolation",
                *python,
                "--out-dir",
                wheels,
                ROOT,
            )
            uv("venv", "--quiet", *python, place)
            [packages] = place.glob("lib/python*/site-packages")
            (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
            [wheel] = wheels.glob("*.whl")
            words = ("--quiet", "--offline", "--no-deps", "--python", place / "bin" / "python")
            uv("pip", "install", *words, wheel)
    return place / "bin"


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [README, *(nightly(page) for page in PAGES)],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_blocks_run_from_the_wheel(stranger, tmp_path, page):
    where = finished(
        stranger / "python", "-c", "print(__import__('quietcrowd').__file__)", cwd=tmp_path
    )
    assert where.output.startswith(str(stranger.parent))
    ran = finished(stranger / "python", "-c", RUN, page, cwd=tmp_path, check=True)
    assert int(ran.output) > 0 or page != README


@pytest.mark.nightly
def test_the_demo_runs_from_the_wheel(stranger, tmp_path):
    shown = finished(stranger / "quietcrowd", "demo", cwd=tmp_path, check=True).output
    assert "The server has stopped" in shown
    assert list(tmp_path.iterdir()) == []
