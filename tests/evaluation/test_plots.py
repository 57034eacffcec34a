"""Plots of audits and of tasks."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from quietcrowd import Categorical, LaplaceMechanism, Ordinal, RandomizedResponse
from quietcrowd.answers import Answers
from quietcrowd.auditing import audit
from quietcrowd.domains import Interval
from quietcrowd.evaluation import plots
from quietcrowd.evaluation.plots import check_picture, plot_task_densities
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.synthesis import PrisCrowd


def axes_of(report):
    [axes] = report.plot().axes
    return axes


@pytest.mark.nightly
def test_a_picture_says_what_is_exact_and_what_is_proven():
    exact = audit(RandomizedResponse(domain=Categorical([0, 1]), epsilon=1.0), 2, draws=500)
    noisy = audit(
        LaplaceMechanism(domain=Ordinal([0, 1]), epsilon=1.0),
        draws=500,
        random_state=1,
    )
    labels = [[line.get_label() for line in axes_of(report).lines] for report in (exact, noisy)]
    assert labels == [
        ["exact delta", "stated", "claimed"],
        ["proven lower bound of delta", "stated", "claimed"],
    ]
    assert axes_of(exact).get_title() == "one-layer: 2 answers a worker"


@pytest.mark.slow
def test_an_infinite_loss_has_no_place_in_a_picture():
    report = audit(RandomizedResponse(domain=Categorical([0, 1]), flip_probability=0.6), draws=500)
    assert len(axes_of(report).lines) == 3


def test_a_name_that_is_no_picture_is_refused():
    with pytest.raises(ParameterError, match=r"must end in \.png or \.svg"):
        check_picture(Path("curve.pdf"))


@pytest.fixture
def density():
    """Return densities of a task of 20 close claims and one far away, and of a single claim."""
    values = [*np.linspace(4.8, 5.2, 20), 9.5, 3.0]
    tasks = ["many $x_1$"] * 21 + ["one"]
    frame = pd.DataFrame({"task": tasks, "worker": [*range(21), 0], "label": values})
    answers = Answers.from_frame(frame, Interval(low=0, high=10))
    return PrisCrowd(epsilon0=1.0, bandwidth=0.3).fit(answers)


@pytest.fixture
def drawn(monkeypatch):
    """Return the axes that are drawn from here on."""
    panels = []
    save = plots.save_with_legend

    def keep(figure, axes, path):
        panels.extend(axes)
        save(figure, axes, path)

    monkeypatch.setattr(plots, "save_with_legend", keep)
    return panels


@pytest.mark.slow
def test_three_densities_the_truth_and_marks(density, drawn, tmp_path):
    path = tmp_path / "task.png"
    plot_task_densities(density, "many $x_1$", path, 5.1, lambda x: np.exp(-x))
    assert path.read_bytes().startswith(b"\x89PNG")
    (axes,) = drawn
    lines = {line.get_label(): line for line in axes.get_lines()}
    for name, colour in (("combined", "red"), ("global", "black"), ("uniform", "green")):
        line = lines[f"{name} weights" + ", as released" * (name == "uniform")]
        assert line.get_color() == colour
        x, y = line.get_data()
        assert np.trapezoid(y, x) == pytest.approx(1, abs=1e-3)
    assert "truth: 5.1" in lines
    assert lines["true density"].get_color() == "blue"
    (low,) = (line for label, line in lines.items() if label.startswith("low weight"))
    assert low.get_marker() == "x"
    assert 9.5 in low.get_xdata()
    (usual,) = (line for label, line in lines.items() if label.startswith("claim"))
    assert len(usual.get_xdata()) + len(low.get_xdata()) == 21
    assert np.median(usual.get_xdata()) == pytest.approx(5.0, abs=0.1)
    assert "only for the collector" in axes.get_title()


@pytest.mark.slow
def test_a_single_claim_far_from_its_truth(density, drawn, tmp_path):
    plot_task_densities(density, "one", tmp_path / "task.png", truth=1e6)
    (axes,) = drawn
    low, high = axes.get_xlim()
    assert low < 3
    assert high > 1e6
    assert max(axes.get_lines()[0].get_ydata()) == pytest.approx(1.3298, rel=1e-3)


def test_long_names_are_cut_off():
    assert plots._short("x" * 100) == f"task {'x' * 59}…"
    assert plots._short("two\nlines") == "task two lines"


def test_what_cannot_be_drawn_is_an_error(density, tmp_path):
    with pytest.raises(AnswerError, match="task 'none' has no claims"):
        plot_task_densities(density, "none", tmp_path / "task.png")
    with pytest.raises(ParameterError, match=r"must end in \.png"):
        plot_task_densities(density, "one", tmp_path / "task.pdf")
    with pytest.raises(FileNotFoundError):
        plot_task_densities(density, "one", Path(tmp_path / "no" / "task.png"))
