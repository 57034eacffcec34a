"""The figures of Sun et al., IEEE Big Data 2018, and experiments on numbers."""

import attrs
import numpy as np
import pytest
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.evaluation import Experiment
from quietcrowd.exceptions import FormatError
from quietcrowd.inference import RatioMean, WeightedMean
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd_research.figure import Figure, FigureResult, Part
from quietcrowd_research.figures import FIGURES
from quietcrowd_research.sun2018.experiment import MECHANISMS

AT_CORNERS = {"epsilons": [0.1, 10.0], "trials": 2, "random_state": 5}


def experiment(sparsity, mechanisms=MECHANISMS, methods=None, **options):
    drawn = options.pop("crowd", {})
    crowds = [
        qc.make_crowd(kind="sparse", sparsity=sparsity, random_state=seed, **drawn)
        for seed in (1, 2)
    ]
    return Experiment(
        dataset=crowds,
        mechanisms=mechanisms,
        methods=methods or {"weighted-mean": WeightedMean()},
        **{**AT_CORNERS, **options},
    )


@pytest.mark.nightly
@pytest.mark.parametrize("clip_truths", [False, nightly(True)])
@pytest.mark.parametrize(
    "sparsity",
    [
        nightly(0.1),
        nightly(0.5),
        0.9,
    ],
)
def test_changes_of_figures_2_to_4(sparsity, clip_truths):
    """Factorisation stays below 0.5, the others are far above; and so does a constant guess."""
    frame = experiment(sparsity, crowd={"clip_truths": clip_truths}).run().frame
    change = frame.set_index(["mechanism", "claimed_epsilon"])["change"]
    for name in ("ridge", "fill"):
        assert change[name].max() < 0.5
    plain = frame[frame["mechanism"] == "none"].set_index("method")["mae"]
    assert plain["constant"] - plain["weighted-mean"] <= 0
    assert plain["weighted-mean"] == pytest.approx(0.56 if clip_truths else 0.81, abs=0.06)
    if sparsity == 0.9:
        for name in ("laplace", "response"):
            assert change[name, 0.1] == pytest.approx(3.6, abs=0.4)


@pytest.mark.nightly
def test_a_constant_is_useless_where_truths_are_spread_out():
    frame = experiment(0.5, crowd={"truths": "uniform"}).run().frame
    private = frame[frame["mechanism"] != "none"].set_index(["mechanism", "claimed_epsilon"])
    plain = frame[frame["mechanism"] == "none"].set_index("method")["mae"]
    assert plain["constant"] > 2
    assert plain["weighted-mean"] < 0.4
    assert private.loc[("ridge", 10.0), "change"] > 4
    assert private.loc[("response", 10.0), "change"] < 0.1
    assert private.loc[("response", 10.0), "correlation"] > 0.99


def test_scores_of_numbers_and_what_each_method_can_read():
    mechanisms = {
        "released": lambda **at: qc.LaplaceMechanism(**at, participation="released"),
        "alone": lambda **at: qc.LaplaceMechanism(**at, fill=None),
    }
    methods = {"mean": qc.Mean(), "ratio": RatioMean()}
    frame = experiment(0.5, mechanisms, methods, crowd={"tasks": 40}, epsilons=[2.0]).run().frame
    rows = set(zip(frame["mechanism"], frame["method"], strict=True))
    assert rows == {
        ("none", "constant"),
        ("none", "mean"),
        ("released", "mean"),
        ("released", "ratio"),
        ("alone", "mean"),
    }
    cells = frame.set_index(["mechanism", "method"])
    assert cells.loc[("released", "mean"), "participation_protected"]
    assert not cells.loc[("alone", "mean"), "participation_protected"]
    assert np.isnan(cells.loc[("released", "ratio"), "change"])
    assert {"mae", "mae_se", "centred_error", "correlation"} <= set(frame.columns)


def test_each_trial_takes_the_next_crowd():
    crowds = [
        qc.make_crowd(kind="sparse", tasks=20, workers=30, sparsity=0.2, random_state=s)
        for s in (1, 2, 3)
    ]
    silent = {"almost none": lambda **at: qc.RandomizedResponse(**at | {"epsilon": 16.0})}
    options = {"mechanisms": silent, "epsilons": [1.0], "methods": {"mean": qc.Mean()}}
    frame = Experiment(dataset=crowds, trials=3, equal_exact=False, **options).run().frame
    each = [qc.mean_absolute_error(qc.Mean().fit(c.answers), c.truths) for c in crowds]
    row = frame[frame["mechanism"] == "almost none"].iloc[0]
    assert row["mae"] == pytest.approx(np.mean(each), abs=1e-3)
    assert row["change"] == pytest.approx(0.0, abs=1e-3)
    assert row["mae_se"] > 10 * row["change_se"]


def test_equal_exact_privacy_hides_participation_too():
    two_layer = {
        "two-layer": lambda **at: TwoLayerRandomizedResponse(
            **at, distribution="epsilon", missing="category"
        )
    }
    frame = experiment(0.5, two_layer, crowd={"tasks": 30}, epsilons=[1.0]).run().frame
    cells = frame.set_index("mechanism")
    assert cells.loc["two-layer", "exact_epsilon_mean"] > 1.9
    assert cells.loc["one-layer*", "exact_epsilon_mean"] == pytest.approx(
        cells.loc["two-layer", "exact_epsilon_mean"]
    )
    assert cells.loc["one-layer*", "participation_protected"]


def small(figure):
    """Return a figure on crowds that take no time."""

    def parts(trials, seed):
        return [
            Part(
                columns={figure.panel: part.columns[key], key: part.columns[key]},
                experiment=lambda: attrs.evolve(
                    experiment(0.5, crowd={"tasks": 20, "workers": 40}),
                    mechanisms={**MECHANISMS},
                    trials=trials,
                    random_state=seed,
                ),
            )
            for part in figure.parts(trials, seed)[:2]
            for key in part.columns
        ]

    return Figure(title=figure.title, across=figure.across, panel=figure.panel, parts=parts)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["sun2018-2", nightly("sun2018-3")])
def test_figures_are_drawn(name, tmp_path):
    result = small(FIGURES[name]).run(trials=2)
    assert isinstance(result, FigureResult)
    assert result.frame["mechanism"].nunique() == len(MECHANISMS) + 1
    result.plot(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_sizes_are_those_of_the_paper():
    for name, workers, tasks in (("sun2018-3", 2_000, 200), ("sun2018-4", 10_000, 1_000)):
        part = FIGURES[name].parts(2, 0)[-1]
        assert part.columns == {"sparsity": 0.9}
        answers = part.experiment().dataset[0].answers
        assert (len(answers.workers), len(answers.tasks)) == (workers, tasks)


@pytest.mark.nightly
def test_crowds_of_figure_2_where_nothing_is_filled_in():
    figure = FIGURES["sun2018-2-kept"]
    parts = figure.parts(2, 0)
    assert [part.columns["dataset"] for part in parts] == [
        "normal truths, 90% missing",
        "normal truths, 50% missing",
        "uniform truths, 90% missing",
        "uniform truths, 50% missing",
    ]
    sparse = parts[0].experiment().dataset[0].answers
    assert sparse.domain == qc.Interval(low=0, high=9)
    crowds = [
        qc.make_crowd(kind="sparse", tasks=15, workers=30, sparsity=0.5, random_state=seed)
        for seed in (0, 1)
    ]
    frame = attrs.evolve(parts[0].experiment(), dataset=crowds, epsilons=[1.0]).run().frame
    sent = frame[frame["mechanism"] == "laplace"].set_index("method")
    assert list(sent.index) == ["mean", "weighted-mean", "noise-aware"]
    assert not sent["participation_protected"].any()


def test_real_sets_are_asked_for_by_name(monkeypatch):
    monkeypatch.delenv("QUIETCROWD_DATA", raising=False)
    with pytest.raises(FormatError, match="wsd: this directory does not exist"):
        FIGURES["sun2018-5"].run(trials=2)


@pytest.mark.nightly
def test_real_sets(data_folder):  # noqa: ARG001
    parts = FIGURES["sun2018-5"].parts(2, 0)
    wsd = attrs.evolve(parts[0].experiment(), epsilons=[1.0, 10.0])
    result = wsd.run()
    assert [sentence.split(" was")[0] for sentence in result.skipped] == ["two-layer"]
    cells = result.frame.set_index(["mechanism", "claimed_epsilon"])
    assert cells.loc[("response", 10.0), "change"] < 0.05
    assert cells.loc[("laplace", 10.0), "change"] > 0.5
    adult = parts[1].experiment().dataset[0].answers
    assert (len(adult.workers), len(adult.tasks), len(adult)) == (825, 11_040, 89_796)
