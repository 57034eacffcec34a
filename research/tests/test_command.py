"""``quietcrowd reproduce`` as a user meets it."""

import json
import os
import xml.etree.ElementTree as ET

import attrs
import pandas as pd
import pytest
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.commands.app import app
from quietcrowd.datasets import make_crowd
from quietcrowd.evaluation.plots import save_picture
from quietcrowd.exceptions import FormatError
from quietcrowd.figures import new_figure
from quietcrowd_research import quick
from quietcrowd_research.figure import Figure, FigureResult, Part, TablePart
from quietcrowd_research.figures import FIGURES
from quietcrowd_research.huai2019.density_experiment import DensityExperiment
from quietcrowd_research.huai2019.density_methods import EvenGuess


def table(title, values, runs=None, **more):
    """Return a figure that is a table, and counts its runs."""

    def parts(trials, _):
        def measure(_):
            if runs is not None:
                runs.append(title)
            rows = {"what": [*"ab"], "value": values, "value_se": [0.5 / trials**0.5, 0.0]}
            return pd.DataFrame(rows)

        return [TablePart(columns={"dataset": "some"}, measure=measure)]

    return Figure(title=title, lines="table", scores=("value",), parts=parts, quick=parts, **more)


def draw(_, path, title):
    """Draw an empty picture."""
    figure = new_figure()
    figure.suptitle(title)
    save_picture(figure, path)


@pytest.fixture
def figures(monkeypatch):
    """Return three small figures in place of all, and what was run of them."""
    runs = []

    def lost(*_):
        raise FormatError("this directory does not exist")

    found = {
        "one2001-1": table("One, Figure 1", [1.0, 2.0], runs, draw=draw),
        "one2001-table-1": table("One, Table 1", [3.0, 4.0], runs),
        "two2002-1": attrs.evolve(table("Two", [1.0, 2.0]), parts=lost, quick=None),
    }
    monkeypatch.setattr("quietcrowd_research.figures.FIGURES", found)
    return found, runs


def test_the_command_is_listed_with_the_first_line_of_its_help(run):
    (listed,) = (line for line in run("--help")[1].splitlines() if "reproduce" in line)
    status, output, _ = run("reproduce", "--help")
    assert status == 0
    assert max(map(len, output.splitlines())) <= 80
    assert output.count("Example: quietcrowd reproduce ") == 3
    assert " ".join(listed.split()[1:]) in output


def test_figures_are_completed(monkeypatch, capsys):
    monkeypatch.setenv("_QUIETCROWD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "quietcrowd reproduce sun2018-")
    monkeypatch.setenv("COMP_CWORD", "2")
    with pytest.raises(SystemExit):
        app([], prog_name="quietcrowd")
    assert "sun2018-3" in capsys.readouterr().out


def test_without_an_argument_figures_are_listed(run):
    status, output, _ = run("reproduce")
    assert status == 0
    assert max(map(len, output.splitlines())) <= 80
    for name in FIGURES:
        assert name in output


def sets_read(parts, wanted):
    """Return the folders of real answers that parts of a figure read, none of which is there."""
    found = set()
    for part in reversed(parts):  # real crowds come last
        if found == wanted:
            break
        try:
            part.experiment() if isinstance(part, Part) else part.measure(False)
        except FormatError as error:
            found.add(str(error).partition(":")[0])
    return found


READING = sorted(name for name, figure in FIGURES.items() if figure.sets)


@pytest.mark.nightly
@pytest.mark.parametrize("name", READING)
def test_a_figure_reads_the_sets_that_the_list_names(run, monkeypatch, name):
    monkeypatch.delenv("QUIETCROWD_DATA", raising=False)
    wanted = set(FIGURES[name].sets)
    assert sets_read(FIGURES[name].parts(2, 0), wanted) == wanted
    described = " ".join(run("reproduce")[1].split())
    assert f"reads {', '.join(FIGURES[name].sets)}" in described


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(FIGURES.keys() - set(READING)))
def test_other_figures_read_none(monkeypatch, name):
    monkeypatch.delenv("QUIETCROWD_DATA", raising=False)
    figure = FIGURES[name]
    for part in (figure.quick or figure.parts)(2, 0):
        assert len(part.run(progress=False)[0]) > 0


@pytest.mark.slow
def test_a_figure_is_reproduced(run, tmp_path, monkeypatch):
    figure = FIGURES["sun2018-2"]

    class Quick:
        has_picture = True

        def run(self, **options):
            parts = figure.parts(2, 0)[:1]
            small = attrs.evolve(
                parts[0].experiment(),
                dataset=qc.make_crowd(kind="sparse", tasks=15, workers=30, sparsity=0.5),
                epsilons=[1.0],
            )
            assert options == {"trials": 2, "seed": 0, "progress": False}
            frame = small.run().frame.assign(sparsity=0.5)
            return FigureResult(figure=figure, frame=frame, skipped=("one was left out",))

    monkeypatch.setattr("quietcrowd_research.figures.FIGURES", {"quick": Quick()})
    words = ["reproduce", "quick", "--trials", "2", "--plot", tmp_path / "f.png"]
    status, output, errors = run(*words, "-o", tmp_path / "f.csv")
    assert status == 0, errors
    assert max(map(len, output.splitlines())) <= 80
    assert errors == "quietcrowd: note: one was left out\n"
    assert (tmp_path / "f.png").exists()
    assert len(pd.read_csv(tmp_path / "f.csv")) == 6
    status, output, _ = run("reproduce", "quick", "--trials", "2", "--json")
    assert len(json.loads(output)) == 6


@pytest.mark.slow
def test_a_figure_about_densities_is_reproduced(run, tmp_path, monkeypatch):
    def measure(_):
        experiment = DensityExperiment(
            datasets=[make_crowd(kind="opinions", tasks=5)],
            truths={"all claims": lambda crowd, _: crowd.densities()},
            methods={"even density": EvenGuess()},
            bandwidth=1.0,
            trials=2,
        )
        return experiment.run()

    quick = Figure(
        title="some table",
        lines="density",
        across="method",
        scores=("ise",),
        parts=lambda *_: [TablePart(columns={"dataset": "drawn"}, measure=measure)],
        skipped=("one was left out",),
    )
    monkeypatch.setattr("quietcrowd_research.figures.FIGURES", {"quick": quick})
    words = ["reproduce", "quick", "--plot", tmp_path / "f.png", "-o", tmp_path / "f.csv"]
    status, output, errors = run(*words)
    assert status == 0, errors
    assert "against all claims" in output
    assert errors == "quietcrowd: note: one was left out\n"
    assert (tmp_path / "f.png").exists()
    assert pd.read_csv(tmp_path / "f.csv")["method"].tolist() == ["even density"]
    status, output, _ = run("reproduce", "quick", "--json")
    assert [row["dataset"] for row in json.loads(output)] == ["drawn"]


def test_all_is_written_and_resumed(run, figures, tmp_path, monkeypatch):
    _, runs = figures
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.png").write_text("a picture of other people")
    folder = tmp_path / "figures"
    status, _, errors = run("reproduce", "all", "-o", folder, "--trials", "2")
    assert status == 0, errors
    assert "two2002-1 (3 of 3): left out: this directory does not exist" in errors
    assert {path.name for path in folder.iterdir()} == {
        *(f"one2001-1.{suffix}" for suffix in ("md", "csv", "png", "svg", "json")),
        *(f"one2001-table-1.{suffix}" for suffix in ("md", "csv", "json")),
        "index.md",
    }
    assert ET.parse(folder / "one2001-1.svg").getroot().tag.endswith("svg")
    page = (folder / "one2001-1.md").read_text()
    assert "# One, Figure 1" in page
    assert "![One, Figure 1](one2001-1.png)" in page
    assert pd.read_csv(folder / "one2001-1.csv")["value"].tolist() == [1.0, 2.0]
    index = (folder / "index.md").read_text()
    assert "[one2001-1](one2001-1.md)" in index
    assert "this directory does not exist" in index
    assert "| One, Figure 1 | 2 | 0 | 20" in index
    assert len(runs) == 2
    (folder / "one2001-1.svg").unlink()
    run("reproduce", "one2001", "-o", folder, "--trials", "2")
    assert runs[2:] == ["One, Figure 1"], "what is whole is not run again"
    run("reproduce", "one2001", "-o", folder, "--trials", "3")
    assert len(runs) == 5, "other trials are another figure"


def test_figures_of_several_runs_are_listed_together(run, figures, tmp_path):
    assert run("reproduce", "one2001-1", "-o", tmp_path, "--no-svg", "--trials", "2")[0] == 0
    assert not (tmp_path / "one2001-1.svg").exists()
    assert "SVG" not in (tmp_path / "one2001-1.md").read_text()
    assert run("reproduce", "one2001-table-1", "-o", tmp_path, "--trials", "5")[0] == 0
    index = (tmp_path / "index.md").read_text().splitlines()
    assert [line.split(" | ")[2] for line in index if "(one2001-" in line] == ["2", "5"]
    assert "not run yet" in index[-1]
    assert run("reproduce", "one2001-1", "-o", tmp_path, "--trials", "2")[0] == 0
    assert (tmp_path / "one2001-1.svg").exists()
    assert len(figures[1]) == 3


def test_an_interrupted_run_leaves_whole_files(run, figures, tmp_path):
    found, _ = figures

    def stopped(*_):
        raise KeyboardInterrupt

    found["one2001-table-1"] = attrs.evolve(found["one2001-table-1"], parts=stopped)
    assert run("reproduce", "all", "-o", tmp_path)[0] != 0
    assert json.loads((tmp_path / "one2001-1.json").read_text())["trials"] == 3
    assert "not run yet" in (tmp_path / "index.md").read_text()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.usefixtures("figures")
def test_options_that_do_not_go_together(run, tmp_path):
    for words, message in (
        (("all",), "name a folder for them with -o FOLDER"),
        (("one2001", "-o", tmp_path, "--json"), "--json goes with one figure"),
        (("one2001-table-1", "--plot", tmp_path / "x.png"), "leave --plot out"),
        (("all", "--quick", "-o", tmp_path), "--output goes with full figures"),
        (("two2002", "--quick"), "cannot be run in small"),
        (("--json",), "--json goes with a FIGURE"),
        (("one201",), "did you mean"),
    ):
        status, _, errors = run("reproduce", *words)
        assert (status, message in errors) == (2, True), errors


def test_a_value_that_is_off_is_told(run, figures, tmp_path, monkeypatch):
    found, _ = figures
    stored = pd.concat([quick.quick_values(name, found[name], trials=40) for name in [*found][:2]])
    path = tmp_path / "stored.csv"
    monkeypatch.setattr(quick, "STORED", path)
    stored.to_csv(path, index=False)
    assert run("reproduce", "all", "--quick")[0] == 0
    for row, value, status in ((0, 2.5, 0), (0, 3.5, 1), (1, 2.0001, 1), (1, 2.0000001, 0)):
        moved = stored.reset_index(drop=True)
        moved.loc[row, "value"] = value
        moved.to_csv(path, index=False)
        ended, output, _ = run("reproduce", "one2001-1", "--quick")
        assert ended == status, output
        assert (": value is" in output) == bool(status)
    stored.iloc[1:].to_csv(path, index=False)
    assert "its rows are not those that are stored" in run("reproduce", "all", "--quick")[1]


BY_DAY = ("sun2018-1", "sun2018-2", "huai2019-3")
"""An error that is counted, a method on drawn crowds, a synthetic crowd: a second or so each."""


@pytest.mark.slow
@pytest.mark.parametrize("which", [*BY_DAY, nightly("all")])
def test_figures_in_small_agree_with_stored_values(run, which):
    """With this seed nothing is left to chance; with another one below 10^-6 (`quick.ERRORS`)."""
    status, output, errors = run("reproduce", which, "--quick")
    assert status == 0, output
    small = [
        name
        for name, figure in FIGURES.items()
        if figure.quick is not None and which in (name, "all")
    ]
    assert small
    told = output.count("agree") + errors.count("was left out")
    assert told == len(small)
    assert bool(os.environ.get("QUIETCROWD_DATA")) <= ("left out" not in errors)
