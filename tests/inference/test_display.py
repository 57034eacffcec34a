import pytest

import quietcrowd as qc

CROWD = qc.make_crowd(tasks=20, workers=12, answers_per_task=4, labels=["<b>", "y"], random_state=1)
NUMBERS = qc.make_crowd(kind="sensors", tasks=20, workers=12, random_state=1)


def test_a_notebook_shows_the_first_rows_and_no_label_as_html():
    page = qc.WeightedVote().fit(CROWD.answers)._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert page.count("<table") == 2
    assert "… and 10 more tasks" in page
    assert "… and 2 more workers" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "crowd", "axes"),
    [
        (qc.WeightedVote(), CROWD, ("confidence", "accuracy")),
        (qc.Mean(), NUMBERS, ("truth", "error")),
        (qc.NoiseAware(), NUMBERS, ("truth", "error_sd")),
    ],
    ids=["labels", "numbers", "numbers with a model"],
)
def test_a_picture_shows_truths_and_workers(method, crowd, axes):
    figure = method.fit(crowd.answers).plot()
    left, right = figure.axes
    assert axes[0] in (left.get_xlabel(), left.get_ylabel())
    assert right.get_ylabel() == axes[1]
    assert len(right.lines[0].get_xdata()) == 12
    figure.canvas.draw()
