import numpy as np
import pytest
from tests.inference.labels.test_option_groups import crowd

import quietcrowd as qc
from quietcrowd.exceptions import NoSignalWarning, ParameterError
from quietcrowd.inference.labels import noise_aware
from quietcrowd.inference.labels.crowd import PriorCounts, constant_answers
from quietcrowd.inference.labels.reports import ALL, blocks_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning"),
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.ConvergenceWarning"),
]


@pytest.mark.parametrize("epsilon", [None, 2.0])
def test_the_bound_of_all_groups_never_decreases(epsilon):
    frame, _, options, _ = crowd([2, 2, 3, 5], tasks=200, workers=25)
    data = qc.Answers.from_frame(frame, options=options)
    if epsilon is not None:
        mechanism = qc.RandomizedResponse(domain=data.domain, epsilon=epsilon)
        data = mechanism.simulate(data, random_state=1)
    history = qc.NoiseAware(max_iter=25, tol=0.0).fit(data).history
    assert len(history) == 25
    assert (np.diff(history) > -1e-9).all()


def test_no_report_changes_odds_by_more_than_epsilon():
    frame, _, options, _ = crowd([2, 3, 4], tasks=100)
    answers = qc.Answers.from_frame(frame, options=options)
    reports = qc.RandomizedResponse(domain=answers.domain, epsilon=1.5).simulate(
        answers, random_state=1
    )
    estimate = qc.NoiseAware().fit(reports)
    for part in estimate.state.parts:
        apart = np.ptp(part.votes.astype(np.int64), axis=2)
        assert apart.max() <= 1.5 * 2**24


def test_a_distribution_over_labels_is_one_over_each_block():
    blocks = blocks_of((2, 3))
    guesses = np.array([0.2, 0.8, 0.5, 0.3, 0.2])
    prior = PriorCounts.of(guesses, blocks)
    answers = constant_answers(5, blocks)
    for block in blocks:
        assert answers[:, block].sum(axis=1) == pytest.approx(np.ones(5))
        own = PriorCounts.of(guesses[block], ALL)
        np.testing.assert_array_equal(prior.mistakes[block, block], own.mistakes)
        places = own.accuracies.shape[2]
        np.testing.assert_array_equal(prior.accuracies[:, block, :places], own.accuracies)
        assert not prior.accuracies[:, block, places:].any()
        np.testing.assert_array_equal(
            answers[block, block], constant_answers(len(own.mistakes), ALL)
        )
    assert np.count_nonzero(prior.mistakes) == 2 + 6
    assert answers[0, 2:].argmax() == 0
    assert answers[4, :2] == pytest.approx([0.5, 0.5])


def test_a_worker_who_always_takes_the_first_option_is_flagged():
    frame, _, options, _ = crowd([2, 3, 4], tasks=200, workers=10)
    lazy = frame["worker"] == "w3"
    frame.loc[lazy, "label"] = [options[task][0] for task in frame["task"][lazy]]
    estimate = qc.NoiseAware().fit(qc.Answers.from_frame(frame, options=options))
    flags = estimate.workers.set_index("worker")["flag"]
    assert flags["w3"] == "constant"
    assert flags.eq("constant").sum() == 1


def test_noise_that_hides_the_truths_is_noticed():
    frame, _, options, _ = crowd([2, 3], tasks=60)
    answers = qc.Answers.from_frame(frame, options=options)
    reports = qc.RandomizedResponse(domain=answers.domain, epsilon=0.05).simulate(
        answers, random_state=1
    )
    with pytest.warns(NoSignalWarning, match="the same position among the options of all tasks"):
        qc.NoiseAware().fit(reports)


def test_a_chance_above_the_limit_is_refused_with_and_without_options():
    frame, positions, options, _ = crowd([3], tasks=20)
    with_options = qc.Answers.from_frame(frame, options=options)
    for data in (with_options, qc.Answers.from_frame(positions, qc.Categorical(range(3)))):
        with pytest.raises(ParameterError, match=r"shared_errors must be a number from 0.* to 0.9"):
            qc.NoiseAware(shared_errors=0.95).fit(data)


def test_known_truths_correct_the_confidences_of_all_groups():
    frame, _, options, truths = crowd([2, 3], tasks=100)
    answers = qc.Answers.from_frame(frame, options=options)
    known = {task: truths[task] for task in list(truths)[:20]}
    estimate = qc.NoiseAware().fit(answers, gold=known)
    assert "By 20 known truths" in estimate.notes[0]
    assert estimate.shared_errors.known_truths == 20
    assert estimate.shared_errors.size < qc.NoiseAware().fit(answers).shared_errors.size
    assert estimate.truths["truth"][:20].tolist() == list(known.values())


def test_tables_of_all_groups_fit_into_memory(monkeypatch):
    frame, _, options, _ = crowd([2, 3, 4], tasks=40)
    monkeypatch.setattr(noise_aware, "MOST_CELLS", 16 * 80)
    with pytest.raises(ParameterError, match="WeightedVote"):
        qc.NoiseAware().fit(qc.Answers.from_frame(frame, options=options))
