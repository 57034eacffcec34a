import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism

LETTERS = qc.Categorical(list("abcdefghij"))


def test_at_one_label_a_set_it_is_randomised_response():
    sets = qc.SubsetSelection(domain=LETTERS, epsilon=1.0, set_size=1)
    labels = qc.RandomizedResponse(domain=LETTERS, epsilon=1.0)
    reports, answers = np.arange(10), np.arange(10)[:, np.newaxis]
    ours = np.exp(sets.channel.log_likelihood(reports, answers))
    assert ours == pytest.approx(labels.channel.probabilities, rel=1e-8)


def test_a_worker_loses_the_sum_of_the_answers():
    guarantee = qc.SubsetSelection(domain=LETTERS, epsilon=0.5).guarantee(answers=20, tasks=100)
    assert guarantee.total_epsilon == pytest.approx(20 * guarantee.epsilon)
    assert guarantee.delta == 0
    assert not guarantee.participation_protected
    assert guarantee.claim_holds


def test_most_of_the_loss_of_many_answers_is_rare():
    tail = qc.SubsetSelection(domain=LETTERS, epsilon=1.0).tail(1e-3, answers=50)
    assert 20 < tail.total_epsilon < 40


def test_the_labels_of_a_set_are_read_off_the_report_domain():
    mechanism = qc.SubsetSelection(domain=LETTERS, epsilon=1.0)
    frame = pd.DataFrame({"task": [1] * 2000, "worker": range(2000), "label": ["d"] * 2000})
    reports = mechanism.randomize(qc.Answers.from_frame(frame, LETTERS))
    sets = mechanism.report_domain.members_of(reports.table.values)
    assert {len(set(one)) for one in sets} == {3}
    held = np.mean(["d" in one for one in sets])
    assert abs(held - float(mechanism.channel.sets.held)) < 0.06  # 5.4 standard deviations


def test_weights_that_do_not_follow_are_refused():
    data = qc.SubsetSelection(domain=LETTERS, epsilon=1.0).to_dict()
    for key in ("inside", "outside", "members"):
        with pytest.raises(FormatError, match=key):
            Mechanism.from_dict({**data, key: data[key] + 1})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 17}, "epsilon must be a number from 0 to 16"),
        ({"epsilon": "much"}, "must be a number"),
        ({"set_size": 0}, "set_size must be a whole number, at least 1"),
        ({"set_size": 2.5}, "set_size must be a whole number"),
        ({"set_size": 10}, "fewer than 10 members"),
        ({"domain": qc.Ordinal(range(64)), "set_size": 32}, "Use a smaller set_size"),
        ({"domain": qc.Interval(low=0, high=1)}, "domain must be Categorical or Ordinal"),
    ],
)
def test_parameters_that_make_no_mechanism(parameters, message):
    with pytest.raises(ParameterError, match=message):
        qc.SubsetSelection(**{"domain": LETTERS, "epsilon": 1.0, **parameters})


def test_answers_of_another_domain_are_refused():
    mechanism = qc.SubsetSelection(domain=LETTERS, epsilon=1.0)
    frame = pd.DataFrame({"task": [1], "worker": [1], "label": [3]})
    with pytest.raises(AnswerError, match="Create the mechanism with"):
        mechanism.randomize(qc.Answers.from_frame(frame, qc.Ordinal(range(5))))
