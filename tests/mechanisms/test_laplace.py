import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.answers import Answers
from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Categorical, Interval, Ordinal
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.mechanisms import LaplaceMechanism, Mechanism
from quietcrowd.report_domains import Lattice

STARS = Ordinal(range(10))
CROWD = make_crowd(kind="sparse", tasks=30, workers=40, sparsity=0.7, random_state=2)


@given(st.floats(1e-3, 50.0), st.floats(-100, 100), st.floats(1e-3, 1e4))
def test_the_loss_is_what_was_asked_for(epsilon, low, width):
    domain = Interval(low=low, high=low + width)
    if not domain.width > 1e-6:
        return
    guarantee = LaplaceMechanism(domain=domain, epsilon=epsilon).guarantee(tasks=7)
    assert epsilon * (1 - 1e-12) <= guarantee.epsilon <= epsilon
    assert guarantee.total_epsilon == pytest.approx(7 * epsilon)
    assert guarantee.claim_holds
    assert guarantee.participation_protected


@pytest.mark.parametrize(
    ("levels", "times"), [(range(10), 0.9), ([0, 100], 50.0), ([0, 0.5, 1], 1 / 3)]
)
def test_printed_noise_is_of_the_number_of_levels(levels, times):
    mechanism = LaplaceMechanism(domain=Ordinal(levels), epsilon=1.0, scale="paper")
    assert mechanism.guarantee(tasks=1).epsilon == pytest.approx(times, rel=2e-3)
    assert mechanism.guarantee(tasks=1).claim_holds == (times <= 1)
    assert mechanism.channel.scale == pytest.approx(len(list(levels)))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_participation_bit_is_free(epsilon):
    released = LaplaceMechanism(domain=STARS, epsilon=epsilon, participation="released")
    plain = LaplaceMechanism(domain=STARS, epsilon=epsilon)
    assert released.guarantee(tasks=1).epsilon == pytest.approx(epsilon)
    assert released.guarantee(tasks=1).epsilon <= epsilon
    assert released.channel.noise == plain.channel.noise
    assert released.channel.participation_noise.scale / 2**10 == pytest.approx(2 / epsilon)


def test_reports_of_answers_alone_do_not_hide_participation():
    mechanism = LaplaceMechanism(domain=STARS, epsilon=1.0, fill=None)
    assert not mechanism.participation_protected
    assert mechanism.guarantee(answers=20).total_epsilon == 20.0
    assert len(mechanism.randomize(CROWD.answers)) == len(CROWD.answers)


def test_noise_averages_out_and_has_the_stated_variance():
    mechanism = LaplaceMechanism(domain=STARS, epsilon=2.0, fill=3.0)
    reports = mechanism.simulate(CROWD.answers, random_state=0)
    table = reports.table
    filled = np.full((30, 40), 3.0)
    filled[CROWD.answers.task_codes, CROWD.answers.worker_codes] = CROWD.answers.values
    noise = table.domain.numbers(table.values) - filled.reshape(-1)
    deviation = math.sqrt(mechanism.channel.variance)
    assert deviation == pytest.approx(math.sqrt(2) * 9 / 2, rel=1e-3)
    assert abs(noise.mean()) < 5 * deviation / math.sqrt(len(noise))
    assert noise.std() == pytest.approx(deviation, rel=0.15)


def test_uniform_fillings_are_levels_or_any_number_of_the_grid():
    none = Answers.from_frame(
        pd.DataFrame({"task": [], "worker": [], "label": []}),
        STARS,
        tasks=range(50),
        workers=range(200),
    )
    wide = LaplaceMechanism(domain=STARS, epsilon=1000.0)
    table = wide.simulate(none, random_state=1).table
    numbers = np.rint(table.domain.numbers(table.values))
    assert set(numbers) == set(range(10))
    assert numbers.mean() == pytest.approx(4.5, abs=0.15)
    domain = Interval(low=0, high=9)
    drawn = LaplaceMechanism(domain=domain, epsilon=1000.0).simulate(
        none.with_values(domain, np.zeros(0)), random_state=1
    )
    numbers = drawn.table.domain.numbers(drawn.table.values)
    assert len(np.unique(numbers)) > 500
    assert numbers.mean() == pytest.approx(4.5, abs=0.15)


def test_what_is_sent_lies_on_the_public_lattice():
    mechanism = LaplaceMechanism(domain=Interval(low=-1, high=1), epsilon=0.7, fill=None)
    frame = pd.DataFrame({"task": [1, 2], "worker": "ann", "label": [0.123456789, -1.0]})
    reports = mechanism.randomize(Answers.from_frame(frame, mechanism.domain))
    assert isinstance(reports.table.domain, Lattice)
    sent = reports.to_frame()["label"].to_numpy()
    places = (sent + 1) / mechanism.grid.step
    assert np.array_equal(places, np.rint(places))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "must be a finite number above 0"),
        ({"epsilon": -1.0}, "above 0"),
        ({"epsilon": math.nan}, "above 0"),
        ({"epsilon": math.inf}, "above 0"),
        ({"epsilon": "much"}, "must be a number"),
        ({"epsilon": 5000.0}, "another epsilon, or another step"),
        ({"domain": Ordinal([3])}, "at least two numbers"),
        ({"domain": Categorical([0, 1])}, "must be Ordinal or Interval"),
        ({"fill": "zero"}, "fill must be"),
        ({"fill": 10.0}, "fill must lie in the domain"),
        ({"fill": math.nan}, "fill must lie in the domain"),
        ({"scale": "wide"}, "scale"),
        ({"participation": "hidden"}, "participation"),
        ({"participation": "released", "fill": "uniform"}, "requires fill"),
        ({"participation": "released", "scale": "paper"}, "requires fill"),
        ({"domain": Interval(low=0, high=1), "scale": "paper"}, "requires an Ordinal domain"),
        ({"step": 0.3}, "power of two"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ParameterError, match=message):
        LaplaceMechanism(**{"domain": STARS, "epsilon": 1.0, **options})


def test_all_tasks_count_so_their_number_must_be_told():
    mechanism = LaplaceMechanism(domain=STARS, epsilon=1.0)
    with pytest.raises(ParameterError, match="State the number of tasks"):
        mechanism.guarantee(answers=20)
    with pytest.raises(ParameterError, match="tasks must be"):
        mechanism.guarantee(answers=20, tasks=10)


def test_answers_outside_the_domain_do_not_come_to_be():
    for wrong in (9.5, math.nan, None, -1):
        frame = pd.DataFrame({"task": ["a"], "worker": ["u"], "label": [wrong]})
        with pytest.raises(AnswerError, match="row 0, column 'label'"):
            Answers.from_frame(frame, Interval(low=0, high=9))
    answers = Answers.from_frame(
        pd.DataFrame({"task": ["a"], "worker": ["u"], "label": [1.0]}), Interval(low=0, high=9)
    )
    with pytest.raises(AnswerError, match="the mechanism expects"):
        LaplaceMechanism(domain=STARS, epsilon=1.0).randomize(answers)


def test_a_description_with_less_noise_is_refused():
    data = LaplaceMechanism(domain=STARS, epsilon=1.0).to_dict()
    with pytest.raises(FormatError, match="noise_scale should be"):
        Mechanism.from_dict({**data, "noise_scale": 1.0})
    with pytest.raises(FormatError, match="cannot be read"):
        Mechanism.from_dict({**data, "epsilon": 0.0})
