"""The wheel and the sdist: what is in them, and that the wheel works where it is installed."""

import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from filelock import FileLock
from tests.programs import finished

import quietcrowd

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = ("", *PROJECT["optional-dependencies"])

TRIED = """
import quietcrowd as qc
crowd = qc.make_crowd(tasks=30, workers=20, answers_per_task=5, labels=["a", "b"], random_state=2)
reports = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=2.0).randomize(crowd.answers)
assert len(qc.NoiseAware().fit(reports).truths) == 30
"""
"""What is asked of every installation."""

TRIED_WITH = {
    "campaign": "import quietcrowd.campaign.server.app",
    "plots": "import quietcrowd.evaluation.plots",
    "scale": "import distributed",
    "testing": "import quietcrowd.testing",
}
"""What is asked where an extra is installed, too."""


def test_the_version_is_the_same_everywhere():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert PROJECT["version"] == quietcrowd.__version__ == cited["version"]
    assert PROJECT["license"] == cited["license"]
    research = tomllib.loads((ROOT / "research" / "pyproject.toml").read_text())["project"]
    assert research["version"] == PROJECT["version"]
    assert f"quietcrowd[plots]=={PROJECT['version']}" in research["dependencies"]
    assert PROJECT["version"] in (ROOT / "CHANGELOG.md").read_text()


def uv(*words, **settings):
    finished(Path(sys.executable).parent / "uv", *words, cwd=ROOT, check=True, **settings)


@pytest.fixture(scope="module")
def distributions(tmp_path_factory, worker_id):
    """Folder of the wheel and the sdist: the first process that asks builds them for all."""
    own = tmp_path_factory.getbasetemp()
    folder = (own if worker_id == "master" else own.parent) / "dist"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            python = ("--python", sys.executable)
            uv("build", "--quiet", "--no-build-isolation", *python, "-o", folder, ".")
    return folder


@pytest.mark.nightly
def test_the_sdist_has_what_the_repository_has(distributions):
    (file,) = distributions.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    listed = finished("git", "ls-files", cwd=ROOT, check=True).output
    assert set(listed.splitlines()) <= held


@pytest.mark.nightly
def test_the_wheel_has_the_library_alone(distributions):
    (wheel,) = distributions.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name.partition("/")[0] for name in archive.namelist()}
    assert held == {"quietcrowd", f"quietcrowd-{PROJECT['version']}.dist-info"}


@pytest.mark.nightly
@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("versions", ["lowest-direct", "highest"])
def test_the_wheel_works_with_the_versions_that_it_asks_for(
    distributions, tmp_path, versions, extra
):
    """The lowest of what `pyproject.toml` names, and the newest that there are."""
    (wheel,) = distributions.glob("*.whl")
    chosen = tmp_path / "requirements.txt"
    words = ["--python-version", f"3.{sys.version_info.minor}", "--resolution", versions]
    words += ["--extra", extra] if extra else []
    uv("pip", "compile", "--quiet", "--no-header", *words, "pyproject.toml", "-o", chosen)
    place = tmp_path / "venv"
    uv("venv", "--quiet", "--python", sys.executable, place)
    python = str(place / "bin" / "python")
    uv("pip", "install", "--quiet", "--python", python, "-r", chosen)
    uv("pip", "install", "--quiet", "--python", python, "--no-deps", wheel)
    for text in (TRIED, TRIED_WITH.get(extra, "")):
        words = (python, "-W", "error::FutureWarning:quietcrowd", "-c", text)
        finished(*words, cwd=tmp_path, check=True)
    told = finished(place / "bin" / "quietcrowd", "--version", check=True)
    assert told.output.split() == ["quietcrowd", PROJECT["version"]]
    research = finished(place / "bin" / "quietcrowd", "reproduce")
    assert research.status == 2
    assert research.errors.endswith("in the source of quietcrowd.\n")
