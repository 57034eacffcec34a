"""The figures and tables of Li et al., KDD 2018."""

import attrs
import numpy as np
import pandas as pd
import pytest

from quietcrowd.exceptions import FormatError
from quietcrowd.inference import MajorityVote
from quietcrowd_research.figures import FIGURES
from quietcrowd_research.li2018.drawn_weights import drawn_weights, tell_weights
from quietcrowd_research.li2018.error_changes import tell_error_changes
from quietcrowd_research.li2018.flip_products import change_densities, tell_change_densities
from quietcrowd_research.li2018.peer_grading import PEER_GRADING, drawn_peer_grading
from quietcrowd_research.li2018.printed import EPSILONS, PRINTED

ONE, TWO, VOTE, TRUTH = "one-layer", "two-layer", "majority", "weighted-vote"


def text_of(told):
    return " ".join(part for part in told if isinstance(part, str))


def test_what_is_printed():
    assert len(EPSILONS) == 13
    peers, smiles = PRINTED[PEER_GRADING], PRINTED["duchenne"]
    assert (peers[ONE, VOTE][1.0], peers[TWO, TRUTH][0.0]) == (0.1019, 0.1992)
    assert (smiles[ONE, TRUTH][0.5], smiles[TWO, VOTE][0.01]) == (0.1562, 0.2362)
    for table in (peers, smiles):
        assert all(list(line) == list(EPSILONS) for line in table.values())


def test_figure_1_is_the_distribution_of_products():
    frame = change_densities()
    assert frame["panel"].unique().tolist() == ["a", "b"]
    rng = np.random.default_rng(4)
    table = tell_change_densities(frame)[0]
    for row in table.itertuples(index=False):
        panel, n, b, one, mean, median, more = row
        drawn = rng.uniform(0, b, (200_000, n)).prod(axis=1)
        assert drawn.mean() == pytest.approx(mean, rel=0.2)  # 6 standard errors at n = 10
        assert np.median(drawn) == pytest.approx(median, rel=0.06)
        assert (drawn > one).mean() == pytest.approx(more, abs=0.006)
        line = frame[(frame["panel"] == panel) & (frame["workers"] == n) & (frame["high"] == b)]
        upper = line[line["change"] >= 0.02]
        area = np.trapezoid(upper["density"], upper["change"])
        assert area == pytest.approx((drawn > 0.02).mean(), abs=0.02)


def test_the_stand_in_has_the_printed_size_and_error():
    crowds = [drawn_peer_grading(seed) for seed in range(60)]
    errors = []
    for crowd in crowds:
        assert crowd.name == PEER_GRADING
        answers = crowd.answers
        assert (len(answers.tasks), len(answers.workers), len(answers)) == (26, 72, 360)
        known = crowd.truths
        found = MajorityVote().fit(answers)
        errors.append(qc_error(found, known))
    assert np.mean(errors) == pytest.approx(0.27, abs=0.05)


def qc_error(estimate, truths):
    from quietcrowd import error_rate

    return error_rate(estimate, truths)


@pytest.mark.nightly
def test_figure_2_shows_the_draws_beside_the_weights(tmp_path):
    crowd = drawn_peer_grading(1)
    frame = drawn_weights(crowd, epsilon=1.0, trials=3, seed=0)
    frame.insert(0, "dataset", crowd.name)
    assert len(frame) == 3 * 72
    assert frame["shown"].sum() == 3 * 5
    assert frame.groupby("worker")["plain"].nunique().max() == 1
    assert frame["flip"].between(0, 2 / (1 + np.e) + 1e-6).all()
    assert set(frame["exact_epsilon"].round(3)) == {1.681}
    told = tell_weights(frame)
    assert len(told[0]) == 5
    assert "3 draws" in text_of(told)
    FIGURES["li2018-2"].draw(frame, tmp_path / "f.png", "title")
    assert (tmp_path / "f.png").stat().st_size > 10_000


def test_a_worker_who_draws_little_gets_the_larger_weight():
    """Many answers of equally good workers: weights are in the order of the draws."""
    from quietcrowd import make_crowd

    crowd = make_crowd(
        kind="guessing",
        tasks=400,
        workers=40,
        answers_per_task=40,
        accuracy=(0.9, 0.9),
        random_state=2,
    )
    frame = drawn_weights(crowd, epsilon=1.0, trials=2, seed=1)
    for _, draw in frame.groupby("trial"):
        assert draw["private"].corr(draw["flip"], method="spearman") < -0.9


@pytest.mark.nightly
def test_tables_2_and_3_tell_what_is_computed(tmp_path):
    figure = FIGURES["li2018-table-2"]
    [part] = figure.quick(2, 0)
    experiment = attrs.evolve(part.experiment(), epsilons=[1.0, 0.0])
    result = experiment.run()
    frame = result.frame.assign(dataset=PEER_GRADING)
    private = frame[frame["mechanism"] != "none"]
    names = private["mechanism"].unique().tolist()
    assert names == [ONE, TWO, "one-layer*", "two-layer beta", "two-layer*"]
    exact = private.set_index(["mechanism", "claimed_epsilon"])["exact_epsilon_mean"]
    assert exact[TWO, 0.0].iloc[0] == pytest.approx(np.log(5))
    assert exact["two-layer*", 1.0].iloc[0] == pytest.approx(1.0, abs=1e-3)
    assert ["two-layer* was dropped at epsilon 0" in one for one in result.skipped] == [True]
    changes, _, errors, *rest = told = tell_error_changes(frame)
    assert len(changes) == len(errors) == 11
    guess = frame.loc[frame["method"] == "constant", "error_rate"].iloc[0]
    compared = private[private["mechanism"].isin([ONE, TWO])]
    worse = (compared["error_rate"] >= guess).sum()
    assert f"Of the 12 rows of one-layer and two-layer, {worse} are no better" in text_of(rest)
    assert "+0.1019" in changes["MV_printed"].tolist()
    assert "claims epsilon 0 to 1 and loses 1.61 to 1.69" in text_of(told)
    FIGURES["li2018-3"].draw(frame, tmp_path / "f.png", "title")
    assert (tmp_path / "f.png").stat().st_size > 10_000


@pytest.mark.nightly
def test_smoothing_3_flatters_the_changes_on_the_real_set(data_folder):  # noqa: ARG001
    [part] = FIGURES["li2018-table-3"].parts(2, 0)
    experiment = part.experiment()
    assert len(experiment.epsilons) == 13
    result = attrs.evolve(experiment, epsilons=[0.5]).run()
    told = text_of(tell_error_changes(result.frame.assign(dataset="duchenne")))
    assert "MV 0.277, TD 0.277, TD s3 0.302. Constant guess: 0.365." in told
    assert "Smoothing 3 raises the plain error from 0.277 to 0.302" in told
    assert "each of its changes is smaller by 0.025, and looks better" in told
    assert "loses 5.63 about an answer of the mean worker, 7.52 of the busiest" in told


def test_table_1_counts(data_folder):  # noqa: ARG001
    frame = FIGURES["li2018-table-1"].run(trials=2).frame
    smiles = frame[frame["dataset"] == "duchenne"]
    assert smiles["counted"].tolist() == [2134, 64, 17_729, 159, 1834]
    printed = frame[frame["printed"] != ""]
    assert (printed["printed"].astype(int) == printed["counted"]).all()


def test_the_real_set_is_asked_for_by_name(monkeypatch):
    monkeypatch.delenv("QUIETCROWD_DATA", raising=False)
    with pytest.raises(FormatError, match="duchenne: this directory does not exist"):
        FIGURES["li2018-4"].run(trials=2)


def test_the_stand_in_is_marked_wherever_it_stands():
    for name in ("li2018-2", "li2018-3", "li2018-table-1", "li2018-table-2"):
        assert "drawn crowd" in FIGURES[name].skipped[0]
    assert "(drawn)" in FIGURES["li2018-3"].title
    assert isinstance(PEER_GRADING, str)
    assert pd.Series([PEER_GRADING]).str.contains("drawn").all()
