"""Every code block of the README and of the docs runs and prints what it says; tables are whole."""

import contextlib
import io
import re
import shlex
from pathlib import Path
from pkgutil import resolve_name

import pandas as pd
import pytest
from tests.nightly import nightly
from typer import BadParameter
from typer.main import get_command

import quietcrowd as qc
from quietcrowd.commands.app import app
from quietcrowd.formats import write_table
from quietcrowd.inference import METHODS
from quietcrowd.mechanisms import Mechanism
from quietcrowd_research.names import FIGURES

ROOT = Path(__file__).parent.parent
SOURCE = Path(qc.__file__).parent
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [README, *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "research").rglob("*.md"))]
NOTEBOOKS = sorted(page for page in PAGES if "file_format: mystnb" in page.read_text())
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    """Return the (language, text) pairs of a page."""
    return BLOCK.findall(page.read_text())


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [nightly(page) if page.parent.name == "theory" else page for page in PAGES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_python_blocks_run_and_print_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    checks = page.parent / "checks" / f"{page.stem}.py"
    if checks.exists():
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(checks.read_text(), checks.name, "exec"), namespace)
        texts = [text for language, text in blocks(page) if language == "text"]
        assert output.getvalue() == "".join(texts)
        return
    printed = None
    for language, text in blocks(page):
        if language == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(text, page.name, "exec"), namespace)
            printed = output.getvalue()
        elif language == "text":
            assert printed == text


@pytest.mark.nightly
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_the_cells_of_a_tutorial_run(notebook, tmp_path, monkeypatch):
    """`make docs` runs them at every change, in a kernel, and shows what comes out."""
    monkeypatch.chdir(tmp_path)
    cells = CELL.findall(notebook.read_text())
    assert len(cells) >= 5
    namespace = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in cells:
            exec(compile(cell, notebook.name, "exec"), namespace)


def test_there_is_a_tutorial():
    assert [page.stem for page in NOTEBOOKS] == ["researcher"]


REFERENCE = "\n".join(page.read_text() for page in PAGES)


@pytest.mark.parametrize("folder", ["mechanisms", "methods"])
def test_every_mechanism_and_every_method_has_its_place(folder):
    known = METHODS if folder == "methods" else Mechanism.registry()
    pages = {page.name: page.read_text() for page in (DOCS / "reference" / folder).glob("*.md")}
    for text in pages.values():
        parts = re.findall(r"^\*\*(Formula|Guarantee|Cost|When|Source)\.\*\*", text, re.MULTILINE)
        expected = ["Formula", "Guarantee", "Cost", "When", "Source"]
        assert parts == expected * text.count("**Formula.**")
    for name, one in known.items():
        if one.__module__.startswith("quietcrowd."):
            named = f"`{one.__name__}`, on the command line `{name}"
            (text,) = (text for text in pages.values() if named in text)
            assert re.search(rf"^\.\. autoclass:: quietcrowd\.(.+\.)?{one.__name__}$", text, re.M)


def test_the_reference_has_every_public_name_once():
    names = re.findall(r"^\.\. auto\w+:: (quietcrowd\..+)$", REFERENCE, re.MULTILINE)
    assert len(set(names)) == len(names)
    assert {f"quietcrowd.{name}" for name in qc.__all__} <= set(names)
    for name in names:
        members = re.search(rf"^\.\. auto\w+:: {name}\n   :members: (.+)$", REFERENCE, re.MULTILINE)
        for member in members[1].split(", ") if members else []:
            assert hasattr(resolve_name(name), member), f"{name}.{member}"
        assert resolve_name(name)


def test_the_page_on_commands_has_all(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    import write_commands

    assert write_commands.table() in write_commands.PAGE.read_text(), (
        "run: python docs/write_commands.py"
    )


def test_the_table_of_wrong_answers_is_what_was_measured(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import wrong_answers

    measured = wrong_answers.table(pd.read_csv(wrong_answers.MEASURED))
    assert measured in wrong_answers.PAGE.read_text(), "run: python benchmarks/wrong_answers.py"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")
def test_the_tables_on_rankings_have_the_rows_that_their_script_writes(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "research" / "docs")
    import draw_ranking

    def rows(table):
        return [line.split("|")[:3] for line in table.splitlines()]

    page = draw_ranking.PAGE.read_text()
    written = draw_ranking.TABLES.search(page)[0]
    assert rows(draw_ranking.accuracies(2)) == rows(written)
    head = draw_ranking.SPREADS.search(page)[0].splitlines()[0]
    assert head == draw_ranking.priors(2).splitlines()[0]


def test_the_readme_is_short():
    assert len(README.read_text().split()) <= 400


@pytest.mark.nightly
def test_the_table_of_people_is_what_a_plan_expects(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "pictures")
    import draw_people

    assert draw_people.table() in README.read_text(), "run: python docs/pictures/draw_people.py"


def test_the_page_on_50_people_names_what_the_screens_show():
    page = (DOCS / "start" / "ask-50-people.md").read_text().partition("## Next")[0]
    names = {" ".join(name.split()) for name in re.findall(r"\*\*([^*]+)\*\*", page)}
    web, texts = SOURCE / "campaign" / "web", SOURCE / "texts"
    files = [*web.rglob("*.html"), *web.rglob("*.js"), web / "worker" / "messages" / "en.json"]
    files.append(SOURCE / "planning" / "verdict.py")
    files += texts.glob("*.toml")
    shown = " ".join("".join(path.read_text() for path in files).split()).casefold()
    assert len(names) >= 15
    assert [name for name in sorted(names) if name.casefold() not in shown] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [README, *sorted((DOCS / "learn").glob("*.md"))], ids=lambda p: p.stem
)
def test_plans_print_what_the_page_shows(page, run, tmp_path, monkeypatch):
    """What the page shows is the beginning of what a command prints."""
    monkeypatch.chdir(tmp_path)
    found = re.findall(
        r"^```console\n(quietcrowd .*?)```\n(?:\n```output\n(.*?)```)?",
        page.read_text(),
        re.M | re.S,
    )
    for command, output in found:
        status, printed, errors = run(*shlex.split(command)[1:])
        assert status == 0, errors
        assert printed.startswith(output)


SECONDS_EACH = {"demo", "lab evaluate", "lab audit"}
"""Commands of the page that take seconds; each has tests of its own."""


@pytest.mark.slow
@pytest.mark.parametrize("left_out", [SECONDS_EACH, nightly(set())], ids=["quick", "all"])
def test_the_commands_of_the_page_on_commands_run(run, tmp_path, monkeypatch, left_out):
    """Warnings are printed, as in a shell: whether the noise hides the truths is up to the draw."""
    monkeypatch.chdir(tmp_path)
    crowd = qc.make_crowd(
        tasks=30, workers=20, answers_per_task=5, labels=["safe", "harmful"], random_state=2
    )
    folder = tmp_path / "FOLDER"
    folder.mkdir()
    for place in (folder, tmp_path):
        qc.write_answers(crowd.answers, place / "answers.csv")
    write_table(crowd.truths, folder / "truth.csv")
    (folder / "dataset.json").write_text('{"kind": "categorical", "domain": ["safe", "harmful"]}')
    write_table(pd.DataFrame({"task": ["drug A", "drug B"]}), tmp_path / "tasks.csv")
    write_table(crowd.truths.slice(0, 3), tmp_path / "known.csv")
    answer = pd.DataFrame({"task": ["drug A"], "worker": ["ann"], "label": [7.5]})
    write_table(answer, tmp_path / "ann.csv")
    write_table(answer[["worker"]], tmp_path / "ann_alone.csv")
    qc.write_answers(
        qc.make_crowd(kind="sensors", tasks=2, workers=300).answers, tmp_path / "claims.csv"
    )
    ran = 0
    for language, text in blocks(DOCS / "reference" / "command-line.md"):
        for line in text.splitlines() if language == "console" else []:
            words = shlex.split(line, comments=True)
            if words[:2] == ["quietcrowd", "reproduce"]:  # takes a minute
                assert words[2] in FIGURES
            elif words[0] == "quietcrowd" and left_out.isdisjoint((words[1], " ".join(words[1:3]))):
                status, _, errors = run(*words[1:])
                assert status == 0, errors
                ran += 1
    assert ran == 15 - len(left_out)
    assert (tmp_path / "truths.csv").exists()


@pytest.mark.slow
def test_the_commands_of_the_page_on_synthetic_claims_run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = blocks(DOCS / "run" / "synthetic.md")
    first = next(text for language, text in page if "to_csv" in text)
    exec(compile(first, "synthetic.md", "exec"), {})
    commands = "".join(text for language, text in page if language == "console")
    for line in commands.splitlines():
        status, _, errors = run(*shlex.split(line)[1:])
        assert status == 0, errors
    assert {path.name for path in tmp_path.rglob("*.*")} == {
        *("claims.csv", "synthetic.csv", "other.csv", "density-drug A.png")
    }


def commands_of(text):
    """Yield the words of each command of quietcrowd in a block for a shell."""
    for line in text.replace("\\\n", " ").splitlines():
        filled = line.replace(" ID", f" {'0' * 32}").replace(" WORKER", f" worker-{'0' * 16}")
        for part in re.split(r"&&|\|(?=\s)", filled):
            if re.match(r" *(\.venv/bin/)?quietcrowd ", part):
                words = shlex.split(part, comments=True)[1:]
                yield words[: words.index(">")] if ">" in words else words


def read_by_parser(words):
    """Read the words as the command line does, without running the command."""
    context = get_command(app).make_context("quietcrowd", words)
    while hasattr(context.command, "resolve_command") and (left := context._protected_args):
        name, command, words = context.command.resolve_command(context, [*left, *context.args])
        context = command.make_context(name, words, parent=context)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_of_pages_exist(page):
    """Also of those that need a server, or a file that is not there."""
    for language, text in blocks(page):
        for words in commands_of(text) if language in ("console", "sh") else ():
            try:
                read_by_parser(words)
            except BadParameter as error:
                if "does not exist" not in str(error):
                    raise


def test_make_knows_the_commands_of_the_readme():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    console = "".join(text for language, text in blocks(README) if language == "console")
    named = set(re.findall(r"^make (\w+)", console, re.MULTILINE))
    assert named == {"demo", "test"}
    assert named <= targets
    for command in ("make test", "make docs"):
        assert command in (ROOT / ".ci" / "run").read_text()
