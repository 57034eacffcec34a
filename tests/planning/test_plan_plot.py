import pytest
from tests.planning.test_campaign_plan import PLAIN, plan, row

from quietcrowd.evaluation.plots import new_figure
from quietcrowd.exceptions import ParameterError
from quietcrowd.planning.plan_plot import _draw, plot_plan


def test_every_line_is_named_and_what_there_is_beside_it():
    pytest.importorskip("matplotlib")
    found = plan(row(), row(epsilon=2.0), row(20), PLAIN, row(20, mechanism="none"), target=0.1)
    axes = new_figure().add_subplot()
    _draw(axes, found.rows, found.private, found.target)
    names = axes.get_legend_handles_labels()[1]
    assert names == [
        "10 workers, 5 answers of each",
        "20 workers, 5 answers of each",
        "constant guess",
        "target",
        "not private",
    ]


def test_a_picture_ends_in_png(tmp_path):
    with pytest.raises(ParameterError, match=r"\.png"):
        plot_plan([row(), PLAIN], tmp_path / "plan.pdf", score="mae", target=None)
