"""Pictures of audits."""

from pathlib import Path

import numpy as np
import pytest

from quietcrowd import Categorical, LaplacePerturbation, Ordinal, RandomizedResponse, audit
from quietcrowd.evaluation.plots import new_figure, plot_audit
from quietcrowd.exceptions import ParameterError


def drawn(report):
    """Return the axes with a report in them."""
    axes = new_figure().add_subplot()
    report.draw(axes)
    return axes


@pytest.mark.slow
def test_a_picture_says_what_is_exact_and_what_is_proven(tmp_path):
    exact = audit(RandomizedResponse(domain=Categorical([0, 1]), epsilon=1.0), 2, draws=500)
    noisy = audit(
        LaplacePerturbation(domain=Ordinal([0, 1]), epsilon=1.0),
        draws=500,
        rng=np.random.default_rng(1),
    )
    labels = [[line.get_label() for line in drawn(report).lines] for report in (exact, noisy)]
    assert labels == [
        ["least delta, exact", "stated", "claimed"],
        ["delta is at least this: proven", "stated", "claimed"],
    ]
    assert drawn(exact).get_title() == "one-layer: 2 answers a worker"
    for report in (exact, noisy):
        plot_audit(report, tmp_path / "curve.png")
        assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_an_infinite_loss_has_no_place_in_a_picture():
    report = audit(RandomizedResponse(domain=Categorical([0, 1]), flip_probability=0.6), draws=500)
    assert len(drawn(report).lines) == 3


def test_a_name_that_is_no_picture_is_refused():
    report = audit(RandomizedResponse(domain=Categorical([0, 1]), epsilon=1.0), draws=500)
    with pytest.raises(ParameterError, match=r"must end in \.png"):
        plot_audit(report, Path("curve.pdf"))
