"""The package as a whole: its public names, its imports, its repository."""

import ast
import importlib
import pkgutil
import re
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import quietcrowd as qc
import quietcrowd_research
from quietcrowd import exceptions
from quietcrowd.commands.app import COMMANDS

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    module.name
    for package in (qc, quietcrowd_research)
    for module in pkgutil.walk_packages(package.__path__, prefix=f"{package.__name__}.")
    if not module.name.endswith(("__main__", "_core"))
)


def test_every_public_name_loads():
    for name in qc.__all__:
        assert getattr(qc, name).__name__ == name


def test_no_module_hides_a_public_name():
    assert not {f"quietcrowd.{name}" for name in qc.__all__} & set(MODULES)


def test_bases_of_what_users_catch_or_silence_are_at_hand():
    assert qc.QuietcrowdError is exceptions.QuietcrowdError
    assert qc.QuietcrowdWarning is exceptions.QuietcrowdWarning
    for name in exceptions.__all__:
        assert issubclass(getattr(exceptions, name), (qc.QuietcrowdError, qc.QuietcrowdWarning))


def test_public_names_are_shown_once():
    assert len(set(qc.__all__)) == len(qc.__all__)
    assert set(qc.__all__) <= set(dir(qc))


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = qc.nothing


def test_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert qc.__version__ == project["project"]["version"]


def test_all_is_exactly_what_is_public():
    for name in MODULES:
        module = importlib.import_module(name)
        own = {
            public
            for public, value in vars(module).items()
            if not public.startswith("_")
            and callable(value)
            and getattr(value, "__module__", None) == name
        }
        named = getattr(module, "__all__", own)  # files name it only for names from other files
        assert own <= set(named), f"{name}: {own - set(named)} not in __all__"
        for public in named:
            assert hasattr(module, public), f"{name}.{public}"
            assert not public.startswith("_"), f"{name}.{public}"


@pytest.mark.nightly
@pytest.mark.slow
def test_worker_side_loads_no_heavy_library(program):
    code = (
        "import sys, quietcrowd as qc, quietcrowd.mechanisms as other;"
        "m = qc.RandomizedResponse(domain=qc.Categorical([0, 1]), epsilon=1.0);"
        "other.TwoLayerRandomizedResponse(domain=m.domain, low=0.1, high=0.4).guarantee(answers=9);"
        "n = qc.LaplaceMechanism(domain=qc.Ordinal([0, 1]), epsilon=1.0);"
        "other.MatrixFactorization(domain=n.domain, epsilon=1.0);"
        "n.channel.noise.sample(10, None);"
        "heavy = ('quietcrowd._core', 'pandas', 'scipy', 'matplotlib');"
        "sys.exit(any(name in sys.modules for name in heavy))"
    )
    program(sys.executable, "-c", code).finished(check=True)


ARRAYS = {"attrs", "numpy", "pyarrow"}


WITH_FRAMES = {*ARRAYS, "narwhals", "rich"}


def words_of(table):
    """Yield the words that name each command of a table."""
    for name, (_, place) in table.items():
        yield from (
            [[name]] if isinstance(place, str) else ([name, *more] for more in words_of(place))
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("all_of", "allowed"),
    [
        (["import quietcrowd"], set()),
        (["run(['--version'])", "run(['--help'])", "run(['no-command'])"], set()),
        (["run(['worker', 'answer', '--help'])"], {*ARRAYS, "rich"}),
        ([f"run([*{words!r}, '--help'])" for words in words_of(COMMANDS)], WITH_FRAMES),
        (["import quietcrowd.mechanisms"], ARRAYS),
        (["from quietcrowd.campaign import Client"], {*ARRAYS, "platformdirs"}),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_no_more_is_loaded_than_is_needed(program, all_of, allowed):
    """Of all that the project depends on; Typer and what it brings is what a command costs.

    One process does one after the other: what any of them loads is there in the end.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    named = [*project["dependencies"], *chain.from_iterable(extras)]
    ours = {re.match("[a-z-]+", one)[0].replace("-", "_") for one in named}
    ours -= {"typer", "pydantic", "typing_extensions"}
    needs_run = any(what.startswith("run") for what in all_of)
    lines = ["import sys", *["from quietcrowd.commands.app import run"] * needs_run]
    for what in all_of:
        lines += [what, f"print('after', {what!r}, *sys.modules, sep='\\t')"]
    _, output, _ = program(sys.executable, "-c", "\n".join(lines)).finished(check=True)
    told = [line.split("\t")[1:] for line in output.splitlines() if line.startswith("after\t")]
    assert [what for what, *_ in told] == all_of
    for what, *modules in told:
        assert {name.partition(".")[0] for name in modules} & ours <= allowed, what
    assert len(ours) > 15


WITHOUT_PANDAS = """
import sys

class Absent:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import pyarrow as pa
import quietcrowd as qc

columns = {"task": ["A", "A", "A", "B"], "worker": ["ann", "bob", "eve", "ann"]}
table = pa.table({**columns, "label": ["yes", "yes", "no", "no"]})
answers = qc.Answers.from_frame(table, domain=qc.Categorical(["yes", "no"]))
device = qc.RandomizedResponse(domain=answers.domain, epsilon=3.0)
for method in (qc.MajorityVote(), qc.DawidSkene(), qc.NoiseAware()):
    estimate = method.fit(table, non_private=True)
    assert estimate.truths["truth"].to_pylist()[0] == "yes"
    for made in (estimate.truths, estimate.workers, estimate.probabilities()):
        assert isinstance(made, pa.Table)
    assert isinstance(method.fit_predict(table, non_private=True), pa.Table)
    assert len(method.fit(answers).answers.tasks) == 2
qc.NoiseAware().fit(device.randomize(answers))
print(*(name for name in ("pandas", "scipy.stats", "matplotlib") if name in sys.modules))
"""


@pytest.mark.nightly
@pytest.mark.slow
def test_a_first_result_needs_neither_pandas_nor_the_statistics_of_scipy(program):
    """PyArrow loads pandas with its first array if it is installed; nothing of ours does."""
    assert program(sys.executable, "-c", WITHOUT_PANDAS).finished(check=True).output.split() == []


@pytest.mark.nightly
def test_nothing_imports_the_statistics_of_scipy():
    packages = (Path(package.__file__).parent for package in (qc, quietcrowd_research))
    sources = chain.from_iterable(package.rglob("*.py") for package in packages)
    assert [path.name for path in sources if "scipy.stats" in imported_by(path)] == []


def imported_by(path):
    """Return the names of the modules that a file imports, wherever in it."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    return plain | {node.module for node in nodes if isinstance(node, ast.ImportFrom)}


def test_lock_has_hashes_and_no_index_address():
    for name in ("requirements.lock", "benchmarks/peers.lock"):
        text = (ROOT / name).read_text()
        assert "--hash=sha256:" in text
        assert "://" not in text
        assert "--index" not in text
        assert "--find-links" not in text
