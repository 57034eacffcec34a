import warnings

import attrs
import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.evaluation import Experiment
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.inference import CRH, MOON
from quietcrowd.mechanisms import TwoLayerRandomizedResponse

CROWD = qc.make_crowd(tasks=100, workers=20, answers_per_task=8, random_state=8)
METHODS = {"majority": qc.MajorityVote(), "weighted-vote": qc.WeightedVote()}
BOTH = [qc.RandomizedResponse, TwoLayerRandomizedResponse]


def run(**options):
    defaults = {
        "dataset": CROWD,
        "mechanisms": BOTH,
        "epsilons": [1.0, 0.0],
        "methods": METHODS,
        "trials": 4,
    }
    return Experiment(**(defaults | options)).run().frame


def test_one_row_per_cell_and_method_and_the_references():
    frame = run()
    assert frame["mechanism"].value_counts().to_dict() == {
        "none": 3,
        "one-layer": 4,
        "two-layer": 4,
        "one-layer*": 4,
    }
    plain = frame[frame["mechanism"] == "none"].set_index("method")["error_rate"]
    assert plain["majority"] == qc.error_rate(qc.MajorityVote().fit(CROWD.answers), CROWD.truths)
    labels = pd.Series(CROWD.truths["label"].to_pylist())
    assert plain["constant"] == pytest.approx(1 - labels.value_counts().max() / 100)


def test_a_figure_does_not_depend_on_what_else_is_run():
    both = run().set_index(["mechanism", "claimed_epsilon", "method"])["error_rate"]
    alone = run(mechanisms=BOTH[:1], epsilons=[0.0], methods={"majority": qc.MajorityVote()})
    row = alone[alone["mechanism"] == "one-layer"].iloc[0]
    assert row["error_rate"] == both["one-layer", 0.0, "majority"]
    other = run(random_state=1).set_index(["mechanism", "claimed_epsilon", "method"])["error_rate"]
    assert (both != other).any()


@pytest.mark.slow
def test_means_changes_and_standard_errors():
    frame = run(mechanisms=BOTH[:1], epsilons=[0.5], trials=50)
    private = frame[frame["mechanism"] == "one-layer"].set_index("method")
    plain = frame[frame["mechanism"] == "none"].set_index("method")
    for name in METHODS:
        row = private.loc[name]
        assert row["change"] == pytest.approx(row["error_rate"] - plain.loc[name, "error_rate"])
        assert 0.001 < row["change_se"] < 0.02
        assert row["trials"] == 50
    rates = []
    for trial in range(50):
        mechanism = qc.RandomizedResponse(domain=CROWD.answers.domain, epsilon=0.5)
        reports = mechanism.simulate(CROWD.answers, random_state=trial)
        rates.append(qc.error_rate(qc.MajorityVote().fit(reports.table), CROWD.truths))
    assert private.loc["majority", "error_rate"] == pytest.approx(np.mean(rates), abs=0.05)


def test_the_order_of_ids_in_a_file_changes_nothing():
    """Reports leave in another order than the answers came: truths must not be mixed up."""
    shuffled = CROWD.answers.to_frame().sample(frac=1, random_state=5)
    mixed = attrs.evolve(CROWD, answers=qc.Answers.from_frame(shuffled, CROWD.answers.domain))
    pd.testing.assert_frame_equal(run(dataset=mixed), run())


def test_exact_losses_stand_beside_claims():
    frame = run(epsilons=[1.0]).drop_duplicates("mechanism").set_index("mechanism")
    two_layer = TwoLayerRandomizedResponse.from_claimed_epsilon(
        domain=CROWD.answers.domain, epsilon=1.0
    )
    counts = CROWD.answers.answers_per_worker
    assert frame.loc["two-layer", "exact_epsilon_mean"] == pytest.approx(
        two_layer.guarantee(answers=round(counts.mean())).epsilon
    )
    assert frame.loc["two-layer", "exact_epsilon_busiest"] == pytest.approx(
        two_layer.guarantee(answers=int(counts.max())).epsilon
    )
    assert frame.loc["one-layer", "exact_epsilon_busiest"] == pytest.approx(1.0)
    assert frame.loc["one-layer*", "exact_epsilon_mean"] == pytest.approx(
        frame.loc["two-layer", "exact_epsilon_mean"]
    )
    assert "one-layer*" not in set(run(equal_exact=False)["mechanism"])


@pytest.mark.nightly
def test_a_picture_is_drawn():
    experiment = Experiment(
        dataset=CROWD, mechanisms=BOTH, epsilons=[1.0, 0.5], methods=METHODS, trials=2
    )
    [axes] = experiment.run(progress=True).plot().axes
    names = axes.get_legend_handles_labels()[1]
    compared = {"constant guess", "weighted-vote, not private", "weighted-vote, one-layer"}
    assert compared <= set(names)


@pytest.mark.slow
def test_exact_losses_are_written_inside_of_the_picture():
    result = Experiment(
        dataset=qc.make_crowd(tasks=60, workers=60, answers_per_task=20),
        mechanisms=BOTH,
        epsilons=[1.0, 0.1],
        methods=METHODS,
        trials=2,
    ).run()
    figure = result.plot()
    figure.canvas.draw()
    (axes,) = figure.axes
    frame, labels = axes.get_window_extent(), axes.texts
    assert len(labels) == 2
    for label in labels:
        box = label.get_window_extent()
        assert frame.y0 < box.y0
        assert frame.x0 < box.x0 < box.x1 < frame.x1


def test_what_is_impossible_is_left_out_and_said():
    crowd = qc.make_crowd(tasks=30, workers=10, answers_per_task=5, labels=range(5))
    options = {"dataset": crowd, "methods": METHODS, "trials": 2}
    result = Experiment(mechanisms=BOTH, epsilons=[2.0, 1.0], **options).run()
    assert len(result.skipped) == 1
    assert result.skipped[0].startswith("two-layer was dropped at epsilon 1: ")
    rows = result.frame[result.frame["mechanism"] == "two-layer"]
    assert set(rows["claimed_epsilon"]) == {2.0}
    with pytest.raises(ParameterError, match="two-layer was dropped at epsilon 1"):
        Experiment(mechanisms=BOTH[1:], epsilons=[1.0], **options).run()


@pytest.mark.parametrize(
    "options",
    [
        {"trials": 1},
        {"epsilons": []},
        {"epsilons": [-1.0]},
        {"epsilons": [1.0, float("nan")]},
        {"random_state": -1},
        {"methods": {}},
        {"methods": [qc.MajorityVote()]},
        {"mechanisms": ["one-layer"]},
        {"mechanisms": [qc.RandomizedResponse(domain=CROWD.answers.domain, epsilon=8.0)]},
        {"dataset": "duchenne"},
    ],
)
def test_bad_experiments(options):
    with pytest.raises(ParameterError):
        run(**options)


@pytest.mark.parametrize("method", [CRH(), qc.Mean(), MOON()])
def test_methods_for_numbers_are_refused_where_answers_are_labels(method):
    experiment = Experiment(
        dataset=qc.make_crowd(tasks=20, workers=10),
        mechanisms=[qc.RandomizedResponse],
        epsilons=[1.0],
        methods={"majority": qc.MajorityVote(), "other": method},
        trials=2,
    )
    with pytest.raises(AnswerError, match=f"{type(method).__name__} needs numbers, an Ordinal"):
        experiment.run()


@pytest.mark.nightly
def test_table_3_of_the_two_layer_paper(data_folder):  # noqa: ARG001
    """Error-rate changes on the Duchenne set within 0.05 of the printed ones."""
    printed = {
        ("one-layer", "majority"): {1.0: 0.1228, 0.5: 0.1784, 0.1: 0.2335},
        ("one-layer", "weighted-vote"): {1.0: 0.0735, 0.5: 0.1562, 0.1: 0.2086},
        ("two-layer", "majority"): {1.0: 0.1240, 0.5: 0.1738, 0.1: 0.2248},
        ("two-layer", "weighted-vote"): {1.0: 0.0560, 0.5: 0.0962, 0.1: 0.1511},
    }
    frame = run(
        dataset=qc.load_dataset("duchenne"),
        epsilons=[1.0, 0.5, 0.1],
        methods={"majority": qc.MajorityVote(), "weighted-vote": qc.WeightedVote(smoothing=3)},
        trials=200,
        equal_exact=False,
    )
    found = frame.set_index(["mechanism", "method", "claimed_epsilon"])["change"]
    for (mechanism, method), changes in printed.items():
        for epsilon, change in changes.items():
            assert found[mechanism, method, epsilon] == pytest.approx(change, abs=0.05)
    for mechanism in ("one-layer", "two-layer"):
        for epsilon in (1.0, 0.5):
            weighted = found[mechanism, "weighted-vote", epsilon]
            assert weighted < found[mechanism, "majority", epsilon]


def test_a_simulation_on_purpose_gives_no_warning():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run(mechanisms=BOTH[:1], trials=2)
    assert not told


def test_rows_that_are_left_out_are_not_part_of_the_data_set():
    frame = CROWD.answers.to_frame()
    frame.loc[0, "label"] = "perhaps"
    answers = qc.Answers.from_frame(frame, CROWD.answers.domain, out_of_domain="skip")
    assert answers.dropped.out_of_domain == 1
    found = run(dataset=attrs.evolve(CROWD, answers=answers), mechanisms=BOTH[:1], trials=2)
    assert "one-layer" in set(found["mechanism"])


@pytest.mark.slow
def test_the_method_that_knows_the_noise_stands_beside_others():
    methods = {"majority": qc.MajorityVote(), "noise-aware": qc.NoiseAware()}
    crowd = qc.make_crowd(tasks=60, workers=20, answers_per_task=8, random_state=1)
    mechanisms = [qc.RandomizedResponse, TwoLayerRandomizedResponse]
    result = Experiment(
        dataset=crowd, mechanisms=mechanisms, epsilons=[2.0], methods=methods, trials=2
    ).run()
    found = result.frame[result.frame["method"] == "noise-aware"]
    assert set(found["mechanism"]) == {"none", "one-layer", "two-layer", "one-layer*"}
    assert found["error_rate"].between(0, 1).all()
    assert len(result.plot().axes) == 1
