"""Every code block of the README and of the theory pages runs and prints what it says."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.evaluation import FIGURES

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    """Return the (language, text) pairs of a page."""
    return BLOCK.findall(page.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run_and_print_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    printed = None
    for language, text in blocks(page):
        if language == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(text, page.name, "exec"), namespace)
            printed = output.getvalue()
        elif language == "text":
            assert printed == text


@pytest.mark.slow
def test_the_commands_of_the_readme_run(run, tmp_path, monkeypatch):
    """Warnings are printed, as in a shell: whether the noise hides the truths is up to the draw."""
    monkeypatch.chdir(tmp_path)
    crowd = qc.synthetic_crowd(
        tasks=30, workers=20, answers_per_task=5, labels=["safe", "harmful"], seed=2
    )
    folder = tmp_path / "FOLDER"
    folder.mkdir()
    for place in (folder, tmp_path):
        qc.write_answers(crowd.answers, place / "answers.csv")
    qc.write_table(crowd.truths, folder / "truth.csv")
    (folder / "dataset.json").write_text('{"kind": "categorical", "domain": ["safe", "harmful"]}')
    qc.write_table(pd.DataFrame({"task": ["drug A", "drug B"]}), tmp_path / "tasks.csv")
    qc.write_table(crowd.truths.slice(0, 3), tmp_path / "known.csv")
    answer = pd.DataFrame({"task": ["drug A"], "worker": ["ann"], "label": [7.5]})
    qc.write_table(answer, tmp_path / "ann.csv")
    qc.write_table(answer[["worker"]], tmp_path / "ann_alone.csv")
    qc.write_answers(qc.sensor_crowd(tasks=2, workers=300).answers, tmp_path / "claims.csv")
    ran = 0
    for language, text in blocks(ROOT / "README.md"):
        for line in text.splitlines() if language == "console" else []:
            words = shlex.split(line, comments=True)
            if words[:2] == ["quietcrowd", "reproduce"]:  # takes a minute
                assert words[2] in FIGURES
            elif words[0] == "quietcrowd":
                status, _, errors = run(*words[1:])
                assert status == 0, errors
                ran += 1
    assert ran == 12
    assert (tmp_path / "truths.csv").exists()


@pytest.mark.slow
def test_the_commands_of_the_page_on_synthetic_claims_run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = blocks(ROOT / "docs" / "synthetic-claims.md")
    first = next(text for language, text in page if "to_csv" in text)
    exec(compile(first, "synthetic-claims.md", "exec"), {})
    (commands,) = (text for language, text in page if language == "console")
    for line in commands.splitlines():
        status, _, errors = run(*shlex.split(line)[1:])
        assert status == 0, errors
    assert {path.name for path in tmp_path.rglob("*.*")} == {
        *("claims.csv", "synthetic.csv", "density-drug A.png")
    }


def test_make_knows_the_commands_of_the_readme():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    console = "".join(
        text for language, text in blocks(ROOT / "README.md") if language == "console"
    )
    named = set(re.findall(r"^make (\w+)", console, re.MULTILINE))
    assert named == {"demo", "test"}
    assert named <= targets
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_links_within_the_repository_lead_somewhere():
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
