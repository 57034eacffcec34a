"""Items ranked by paired comparisons: what is read, what is refused, what comes out."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from attrs import evolve

import quietcrowd as qc
from quietcrowd.comparisons import SIDES
from quietcrowd.exceptions import (
    AnswerError,
    ConvergenceWarning,
    ParameterError,
    SimulatedNoiseWarning,
)
from quietcrowd.inference.ranking.bradley_terry import BradleyTerry
from quietcrowd.mechanisms import OptimalMechanism, TwoLayerRandomizedResponse
from quietcrowd.mechanisms.channels import TableChannel

NAMES = ["tea", "coffee", "milk", "juice", "cola"]


def crowd(count=400, seed=0, names=NAMES, scores=(1.0, 0.5, 0.0, -0.5, -1.0)):
    """Return a frame of comparisons, each by another worker."""
    rng = np.random.default_rng(seed)
    scores, names = np.array(scores), np.array(names)
    left = rng.integers(0, len(names), count)
    right = (left + rng.integers(1, len(names), count)) % len(names)
    wins = rng.random(count) < 1 / (1 + np.exp(scores[right] - scores[left]))
    return pd.DataFrame(
        {
            "worker": np.arange(count),
            "left": names[left],
            "right": names[right],
            "label": np.where(wins, names[left], names[right]),
        }
    )


@pytest.fixture
def device():
    """Return randomised response of left and right."""
    return qc.RandomizedResponse(domain=SIDES, epsilon=2.0)


@pytest.fixture
def reports(device):
    """Return reports that are not marked as simulated."""
    made = device.simulate(qc.Answers.from_comparisons(crowd()), random_state=1)
    return evolve(made, simulated=False)


def as_dict(ranking):
    """Return the scores by item."""
    return dict(zip(map(str, ranking.items.to_pylist()), ranking.scores, strict=True))


def sides_as_items(reports):
    """Return randomised answers as crowd-kit's frame has comparisons."""
    frame = reports.table.to_frame()
    pairs = frame["task"].str.split(" | ", regex=False, expand=True)
    chosen = np.where(frame["label"] == "left", pairs[0], pairs[1])
    return pd.DataFrame(
        {"worker": frame["worker"], "left": pairs[0], "right": pairs[1], "label": chosen}
    )


def test_a_frame_and_its_answers_are_ranked_alike():
    frame = crowd()
    ranking = BradleyTerry().fit(frame, non_private=True)
    assert ranking.ranking == NAMES
    assert as_dict(BradleyTerry().fit(qc.Answers.from_comparisons(frame))) == as_dict(ranking)
    assert abs(ranking.scores.mean()) < 1e-12
    assert ranking.mechanism is None


def test_no_order_of_rows_and_no_swap_of_sides_changes_the_scores():
    frame = crowd()
    swapped = frame.rename(columns={"left": "right", "right": "left"}).sample(
        frac=1, random_state=3
    )
    expected = pytest.approx(as_dict(BradleyTerry().fit(frame, non_private=True)), abs=1e-7)
    assert as_dict(BradleyTerry().fit(swapped, non_private=True)) == expected
    renamed = frame.replace({"tea": "zz"})
    found = as_dict(BradleyTerry().fit(renamed, non_private=True))
    assert {"tea" if name == "zz" else name: score for name, score in found.items()} == expected


def test_reports_are_read_by_their_distribution_however_they_come_in(reports, device):
    by_reports = BradleyTerry().fit(reports)
    assert by_reports.mechanism == device
    expected = pytest.approx(as_dict(by_reports), abs=1e-9)
    frame = sides_as_items(reports)
    for how in (device, device.channel):
        assert as_dict(BradleyTerry().fit(frame, mechanism=how)) == expected
        assert as_dict(BradleyTerry().fit(reports.table, mechanism=how)) == expected
    shrunk, spread_out = (
        np.ptp(BradleyTerry().fit(frame, **how, non_private=True).scores)
        for how in ({}, {"mechanism": device})
    )
    assert spread_out > 1.1 * shrunk, "what the noise took is not given back"


def test_a_frame_of_reports_is_not_read_as_preferences(reports, device):
    frame = sides_as_items(reports)
    with pytest.raises(AnswerError, match=r"add non_private=True.*add mechanism="):
        BradleyTerry().fit(frame)
    frame["mechanism"] = device.short_hash
    for how in ({}, {"non_private": True}):
        with pytest.raises(AnswerError, match="randomized reports, not"):
            BradleyTerry().fit(frame, **how)
    with pytest.raises(AnswerError, match="randomized reports, not"):
        qc.Answers.from_comparisons(frame)
    assert BradleyTerry().fit(frame, mechanism=device).converged
    other = qc.RandomizedResponse(domain=SIDES, epsilon=1.0)
    with pytest.raises(AnswerError, match=f"mechanism {device.short_hash} is unknown"):
        BradleyTerry().fit(frame, mechanism=other)


def test_a_domain_in_the_other_order_is_the_same(reports):
    other = qc.Categorical(["right", "left"])
    device = qc.RandomizedResponse(domain=other, epsilon=2.0)
    turned = qc.Answers.from_frame(reports.table.to_frame(), other)
    made = qc.Reports(table=turned, mechanism=device)
    expected = pytest.approx(as_dict(BradleyTerry().fit(reports)), abs=1e-9)
    assert as_dict(BradleyTerry().fit(made)) == expected
    assert as_dict(BradleyTerry().fit(turned, mechanism=device.channel)) == expected


def test_next_to_no_noise_is_the_same_as_none():
    frame = crowd()
    hardly = qc.RandomizedResponse(domain=SIDES, epsilon=16.0)
    noisy = as_dict(BradleyTerry().fit(frame, mechanism=hardly))
    assert noisy == pytest.approx(as_dict(BradleyTerry().fit(frame, non_private=True)), abs=1e-4)


def test_sets_and_other_tables_are_read_by_their_distribution_too():
    answers = qc.Answers.from_comparisons(crowd(4000))
    for device in (
        qc.SubsetSelection(domain=SIDES, epsilon=2.0),
        OptimalMechanism(domain=SIDES, epsilon=2.0, prior={"left": 0.5, "right": 0.5}),
    ):
        made = evolve(device.simulate(answers, random_state=2), simulated=False)
        assert BradleyTerry().fit(made).ranking[0] == "tea"


def test_ids_and_the_library_are_those_that_came_in():
    frame = crowd(names=[10, 20, 30, 40, 50])
    found = BradleyTerry().fit(pl.from_pandas(frame), non_private=True).to_frame()
    assert isinstance(found, pl.DataFrame)
    assert found["item"].to_list() == [10, 20, 30, 40, 50]
    assert found["comparisons"].sum() == 2 * len(frame)


def test_items_that_were_never_compared_have_no_common_scale():
    rows = [
        (w, left, right, left) for w, (left, right) in enumerate(["ab", "bc", "de", "fg", "hi"])
    ]
    frame = pd.DataFrame(rows, columns=["worker", "left", "right", "label"])
    with pytest.raises(AnswerError) as error:
        BradleyTerry().fit(frame, non_private=True)
    assert "there are 4 groups, ('a', 'b', 'c'), ('d', 'e'), ('f', 'g') and 1 more" in str(
        error.value
    )
    assert "Rank each group separately" in str(error.value)


def test_a_pair_that_nobody_compared_joins_no_groups():
    answers = qc.Answers.from_comparisons(crowd())
    more = qc.Answers.from_frame(
        answers.to_frame(), SIDES, tasks=[*answers.tasks.to_pylist(), "tea | beer"]
    )
    with pytest.raises(AnswerError, match=r"\('beer'\)"):
        BradleyTerry().fit(more)


def test_noise_that_hides_everything_is_an_error(reports):
    blind = qc.RandomizedResponse(domain=SIDES, epsilon=0.0)
    for data, how in (
        (evolve(reports, mechanism=blind), None),
        (crowd(), blind),
        (crowd(), TableChannel.uninformative(2)),
    ):
        with pytest.raises(AnswerError, match="carry no information about the preferences"):
            BradleyTerry().fit(data, mechanism=how)


def test_distributions_that_a_comparison_does_not_have_are_refused():
    answers = qc.Answers.from_comparisons(crowd())
    shared = TwoLayerRandomizedResponse(domain=SIDES, low=0.1, high=0.4)
    with pytest.raises(AnswerError, match="share a random draw"):
        BradleyTerry().fit(shared.randomize(answers))
    hidden = qc.RandomizedResponse(domain=SIDES, epsilon=1.0, missing="category")
    with pytest.raises(AnswerError, match="every worker reports every task"):
        BradleyTerry().fit(crowd(), mechanism=hidden)
    with pytest.raises(AnswerError, match=r"comparisons must be answers in Categorical\(\['left'"):
        BradleyTerry().fit(qc.make_crowd(tasks=3, workers=10).answers)
    numbers = qc.LaplaceMechanism(domain=qc.Interval(low=0, high=1), epsilon=1.0)
    with pytest.raises(AnswerError, match="got Interval"):
        BradleyTerry().fit(crowd(), mechanism=numbers)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"spread": 0}, "spread must be a finite number above 0"),
        ({"spread": -1}, "spread must be a finite number"),
        ({"spread": float("nan")}, "spread must be a finite number"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"duplicates": "both"}, "duplicates must be one of"),
        ({"mechanism": 1.0}, "mechanism must be a Mechanism"),
        ({"mechanism": TableChannel.uninformative(3)}, "2 rows and 2 columns"),
        (
            {"mechanism": qc.SubsetSelection(domain=SIDES, epsilon=1.0)},
            "pass the Reports object to BradleyTerry.fit",
        ),
    ],
)
def test_parameters_out_of_their_range(options, told):
    own = options.keys() & {"spread", "max_iter"}
    given = {name: options[name] for name in options.keys() - own}
    with pytest.raises(ParameterError, match=told):
        BradleyTerry(**{name: options[name] for name in own}).fit(
            crowd(), **given, non_private=True
        )


def test_reports_carry_their_mechanism(reports, device):
    with pytest.raises(ParameterError, match="already contain their mechanism"):
        BradleyTerry().fit(reports, mechanism=device)


def test_too_many_items_and_no_comparison_are_errors(monkeypatch):
    monkeypatch.setattr("quietcrowd.inference.ranking.bradley_terry.MOST_ITEMS", 4)
    with pytest.raises(ParameterError, match=r"5 items cannot be ranked together; the limit is 4"):
        BradleyTerry().fit(crowd(), non_private=True)
    empty = crowd(0)
    with pytest.raises(AnswerError, match="the frame has no row"):
        BradleyTerry().fit(empty, non_private=True)
    answers = qc.Answers.from_frame(
        pd.DataFrame(columns=["task", "worker", "label"]), SIDES, tasks=["a | b"], workers=["u"]
    )
    with pytest.raises(AnswerError, match="there is no comparison"):
        BradleyTerry().fit(answers)


def test_repeated_comparisons_are_an_error_or_left_out():
    frame = pd.concat([crowd(), crowd().iloc[:1]])
    with pytest.raises(AnswerError, match="in row 0 already"):
        BradleyTerry().fit(frame, non_private=True)
    assert BradleyTerry().fit(frame, duplicates="first", non_private=True).reports == len(crowd())
    found = BradleyTerry().fit(frame, duplicates="all", non_private=True)
    assert (found.reports, found.workers) == (len(frame), crowd()["worker"].nunique())
    another = frame.assign(worker=range(len(frame)))
    assert as_dict(found) == as_dict(BradleyTerry().fit(another, non_private=True))
    with pytest.raises(AnswerError, match="row 1, column 'worker': the id is missing"):
        BradleyTerry().fit(
            frame.assign(worker=["u", None] * (len(frame) // 2) + ["u"] * (len(frame) % 2)),
            duplicates="all",
            non_private=True,
        )


def test_a_frame_may_have_other_names():
    frame = crowd().set_axis(["who", "a", "b", "won"], axis=1)
    columns = ("who", "a", "b", "won")
    expected = as_dict(BradleyTerry().fit(crowd(), non_private=True))
    for duplicates in ("error", "all"):
        found = BradleyTerry().fit(frame, columns=columns, duplicates=duplicates, non_private=True)
        assert as_dict(found) == expected


def test_simulated_noise_and_an_early_end_are_told(device):
    made = device.simulate(qc.Answers.from_comparisons(crowd()), random_state=1)
    with pytest.warns(SimulatedNoiseWarning, match="protect no one"):
        BradleyTerry().fit(made)
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 steps"):
        assert not BradleyTerry(max_iter=1).fit(crowd(), non_private=True).converged


def held(epsilon, draws, count):
    """Return in how many draws the interval of the gap of tea and milk, 1, holds it."""
    device = qc.RandomizedResponse(domain=SIDES, epsilon=epsilon) if epsilon else None
    found = 0
    for seed in range(draws):
        data = qc.Answers.from_comparisons(crowd(count, seed))
        if device is not None:
            data = device.simulate(data, random_state=np.random.default_rng([seed, 1]))
        ranking = BradleyTerry(spread=10.0).fit(data)
        names = ranking.items.to_pylist()
        gap, error = ranking.gap(names.index("tea"), names.index("milk"))
        found += abs(gap - 1.0) <= 1.959964 * error
    return int(found)


@pytest.mark.nightly
@pytest.mark.parametrize(("epsilon", "count"), [(None, 1000), (2.0, 3000), (1.0, 8000)])
def test_intervals_hold_the_gap_in_95_of_100_draws(epsilon, count):
    """Drawn from fixed seeds. With others it fails with a chance below 10^-6.

    That is where an interval holds the gap with a probability from 0.945 to 0.96: it is normal in
    the limit alone.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulatedNoiseWarning)
        assert 900 <= held(epsilon, 1000, count) <= 991


def test_predictions_are_the_scores_best_first():
    frame = crowd()
    scores, ranking = (
        BradleyTerry().fit_predict(frame, non_private=True),
        BradleyTerry().fit(frame, non_private=True),
    )
    assert scores.index.tolist() == ranking.ranking
    assert scores.to_dict() == as_dict(ranking)
    other = BradleyTerry().fit_predict(pl.from_pandas(frame), non_private=True)
    assert other.columns == ["item", "score"]
    assert other["score"].to_list() == scores.tolist()


def test_a_tie_counts_half_to_each():
    """Two ties between a pair are a comparison won by each."""
    frame, pair = crowd(), {"left": ["tea"] * 2, "right": ["coffee"] * 2}
    tied = pd.DataFrame({"worker": [-1, -2], **pair, "label": ["tie", "Draw"]})
    won = pd.DataFrame({"worker": [-1, -2], **pair, "label": ["tea", "coffee"]})
    found, expected = (
        BradleyTerry().fit(pd.concat([frame, rows]), non_private=True) for rows in (tied, won)
    )
    assert as_dict(found) == pytest.approx(as_dict(expected), abs=1e-9)
    assert np.allclose(found.covariance, expected.covariance)
    assert (found.reports, found.workers) == (expected.reports, expected.workers)
    answers = qc.Answers.from_comparisons(pd.concat([frame, tied]), ties="keep")
    assert as_dict(BradleyTerry().fit(answers)) == as_dict(found)


def test_items_that_only_tie_have_equal_scores():
    rows = {"worker": ["ann"], "model_a": [1], "model_b": [2], "winner": ["tie"]}
    assert BradleyTerry().fit(pd.DataFrame(rows), non_private=True).scores.tolist() == [0.0, 0.0]


def test_a_tie_is_no_report(device):
    rows = {"worker": ["ann"], "left": ["tea"], "right": ["milk"], "label": ["tie"]}
    with pytest.raises(AnswerError, match="'tie' is neither side, so it cannot be randomized"):
        BradleyTerry().fit(pd.DataFrame(rows), mechanism=device)
    answers = qc.Answers.from_comparisons(pd.DataFrame(rows), ties="keep")
    with pytest.raises(AnswerError, match="left"):
        BradleyTerry().fit(answers, mechanism=device)


def test_comparisons_of_several_mechanisms_are_read_by_their_distributions(reports, device):
    """Sets of one label have the distribution of labels."""
    table, sets = reports.table, qc.SubsetSelection(domain=SIDES, epsilon=2.0, set_size=1)
    frame = table.to_frame()
    half = frame["worker"] < frame["worker"].median()
    parts = [
        qc.Answers.from_frame(frame[mine], SIDES, tasks=table.tasks.to_pylist())
        for mine in (half, ~half)
    ]
    as_sets = parts[1].with_values(sets.report_domain, parts[1].values.astype(np.int64))
    joined = qc.join_reports(
        qc.Reports(table=parts[0], mechanism=device), qc.Reports(table=as_sets, mechanism=sets)
    )
    assert len(joined.mechanisms) == 2
    expected = pytest.approx(as_dict(BradleyTerry().fit(reports)), abs=1e-6)
    assert as_dict(BradleyTerry().fit(joined)) == expected
    mixed = qc.join_reports(qc.Reports(table=parts[0], mechanism=device), parts[1])
    assert as_dict(BradleyTerry().fit(mixed)) != expected
