import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quietcrowd.answers import Answers
from quietcrowd.commands.choices import choose_mechanism
from quietcrowd.domains import Categorical, Interval, Ordinal
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism, SampledVarianceChannel, SampledVarianceGaussian
from quietcrowd.mechanisms.discrete_gaussian import DrawnGaussian
from quietcrowd.report_domains import Lattice

FALSE_ALARM = 1e-6
STARS = Ordinal(range(11))
UNIT = Interval(low=0, high=1)


def crowd(domain, *, workers, answers, value=0.0):
    frame = pd.DataFrame(
        {
            "task": np.tile(np.arange(answers), workers),
            "worker": np.repeat(np.arange(workers), answers),
            "label": value,
        }
    )
    return Answers.from_frame(frame, domain)


@pytest.mark.nightly
@settings(max_examples=20)
@given(st.floats(1e-2, 5.0), st.floats(1e-6, 0.9), st.floats(-100, 100), st.floats(1e-3, 1e4))
def test_the_claim_holds_for_one_of_any_number_of_answers(epsilon, delta, low, width):
    domain = Interval(low=low, high=low + width)
    if not domain.width > 1e-6:
        return
    mechanism = SampledVarianceGaussian(domain=domain, epsilon=epsilon, delta=delta)
    pure = 2 * math.sqrt(epsilon * -math.log1p(-delta))
    assert mechanism.channel.epsilon == pytest.approx(pure, rel=1e-2, abs=1e-4)
    for answers in (1, 2, 100):
        guarantee = mechanism.guarantee(answers=answers)
        assert guarantee.claim_holds
        assert guarantee.claimed_epsilon == epsilon
        assert guarantee.claimed_delta == delta
        if answers > 1:
            assert guarantee.epsilon == epsilon
            assert 0 < guarantee.delta <= delta + 1e-6
            assert guarantee.worker_epsilon >= 0.99 * answers * epsilon
    assert not mechanism.participation_protected


@pytest.mark.parametrize(
    ("answers", "epsilon", "row", "delta"),
    [(1, 0.6492, 0.6492, 0.0), (2, 1.0, 2.096, 0.0916), (5, 1.0, 5.384, 0.0916)],
)
def test_what_is_stated(answers, epsilon, row, delta):
    mechanism = SampledVarianceGaussian(domain=STARS, epsilon=1.0, delta=0.1)
    guarantee = mechanism.guarantee(answers=answers)
    assert guarantee.epsilon == pytest.approx(epsilon, abs=1e-4)
    assert guarantee.worker_epsilon == pytest.approx(row, abs=1e-3)
    assert guarantee.delta == pytest.approx(delta, abs=1e-4)
    text = " ".join(str(guarantee).split())
    assert "The paper's claim of 1 with delta = 0.1 holds." in text
    assert ("may become known" in text) == (answers > 1)


def test_a_single_answer_with_a_claim_below_its_pure_loss():
    mechanism = SampledVarianceGaussian(domain=UNIT, epsilon=0.5, delta=0.4)
    one, two = (mechanism.guarantee(answers=n) for n in (1, 2))
    assert mechanism.channel.epsilon > 0.9
    assert (one.epsilon, one.worker_epsilon, one.delta) == (0.5, 0.5, two.delta)
    assert one.claim_holds


@pytest.mark.parametrize("domain", [STARS, Interval(low=-3, high=12.5)])
def test_rate_and_epsilon_are_two_ways_to_say_it(domain):
    by_rate = SampledVarianceGaussian(domain=domain, rate=0.004, delta=0.2)
    assert by_rate.channel.noise.rate == pytest.approx(0.004 * by_rate.grid.step**2, rel=1e-14)
    assert by_rate.channel.variance == pytest.approx(250.0)
    assert by_rate.channel.scale == pytest.approx(1 / math.sqrt(0.008))
    claimed = by_rate.claimed_epsilon
    assert claimed == pytest.approx(0.004 * by_rate.grid.width**2 / (2 * math.log(1 / 0.8)))
    by_claim = SampledVarianceGaussian.from_claimed_epsilon(
        domain=domain, epsilon=claimed, delta=0.2
    )
    assert by_claim.channel.noise.unit == pytest.approx(by_rate.channel.noise.unit)
    assert by_claim.guarantee(answers=9).delta == pytest.approx(by_rate.guarantee(answers=9).delta)


def test_a_least_variance_takes_away_from_delta():
    deltas = [
        SampledVarianceGaussian(domain=UNIT, epsilon=1.0, delta=0.1, least_variance=least)
        .guarantee(answers=5)
        .delta
        for least in (None, 0.0, 0.1, 1.0, 10.0)
    ]
    assert deltas[0] == deltas[1]
    assert np.all(np.diff(deltas[1:]) < 0)
    assert deltas[-1] < 1e-4 < deltas[-2]
    channel = SampledVarianceGaussian(
        domain=UNIT, epsilon=1.0, delta=0.1, least_variance=10.0
    ).channel
    assert channel.least_variance == pytest.approx(10.0)
    assert channel.variance == pytest.approx(10.0 + 2 * channel.scale**2)


def test_one_report_is_laplace_and_several_share_a_variance():
    mechanism = SampledVarianceGaussian(domain=UNIT, rate=0.5, delta=0.3)
    assert mechanism.worker_channel is None
    assert isinstance(mechanism.channel, SampledVarianceChannel)
    answers = crowd(UNIT, workers=5_000, answers=2)
    table = mechanism.randomize(answers, rng=np.random.default_rng(4)).table
    noise = table.domain.numbers(table.values).reshape(2, -1)
    for reports in noise:
        assert stats.kstest(reports, stats.laplace(scale=1.0).cdf).pvalue > FALSE_ALARM
    assert abs(np.corrcoef(noise)[0, 1]) < 0.1
    assert np.corrcoef(np.log(noise**2 + 1e-9))[0, 1] > 0.1, "the variance is a worker's own"


def test_what_is_sent_is_on_the_public_lattice_and_cut_off(monkeypatch):
    mechanism = SampledVarianceGaussian(domain=UNIT, rate=100.0, delta=0.1, step=2.0**-8)
    answers = crowd(UNIT, workers=50, answers=3, value=0.3)
    reports = mechanism.randomize(answers)
    assert isinstance(reports.table.domain, Lattice)
    assert reports.table.domain == mechanism.report_domain
    assert mechanism.channel.reach == math.ceil(64 * mechanism.channel.scale / 2.0**-8) == 1159
    assert mechanism.noise_draws(answers=150, tasks=3, workers=50) >= 150
    far = np.repeat([-(2**40), 0, 2**40], 50)
    monkeypatch.setattr(DrawnGaussian, "sample", lambda *_: far)
    sent = mechanism.randomize(answers).table.values
    assert sent[[0, 60, -1]].tolist() == [-1159, 77, 256 + 1159]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "at 0 the noise would be infinite"),
        ({"epsilon": -1.0}, "above 0"),
        ({"epsilon": math.nan}, "above 0"),
        ({"epsilon": math.inf}, "above 0"),
        ({"epsilon": "much"}, "must be a number"),
        ({"epsilon": 1e5}, "needs noise of about 2.* another step"),
        ({"epsilon": 1e308, "delta": 0.999}, "needs noise of about"),
        ({"epsilon": 1e-300, "delta": 1e-30}, "needs noise of about"),
        ({"epsilon": None}, "give either epsilon, the claimed loss, or rate"),
        ({"rate": 1.0}, "give either epsilon, the claimed loss, or rate"),
        ({"epsilon": None, "rate": 0.0}, "rate must be a finite number above 0"),
        ({"epsilon": None, "rate": math.nan}, "rate must be a finite number above 0"),
        (
            {"epsilon": None, "rate": 1e-300},
            r"rate=1e-300 is too small: .* about 2\^5",
        ),
        (
            {"epsilon": None, "rate": 1e300},
            r"rate=1e\+300 is too large: .* about 2\^-4",
        ),
        ({"delta": None}, r"delta must be given.*-m sampled-variance:delta=0.05"),
        ({"delta": 0.0}, "delta must be at least 1e-30 and below 1; got 0.0"),
        ({"delta": 1.0}, "below 1"),
        ({"delta": math.nan}, "below 1"),
        ({"delta": -0.1}, "below 1"),
        ({"least_variance": -1.0}, "least_variance must be a finite number"),
        ({"least_variance": math.inf}, "least_variance must be a finite number"),
        (
            {"least_variance": 1e6},
            "16 times the mean that is drawn, 7593; got 1000000.0. Take a lower one",
        ),
        ({"domain": Ordinal([3])}, "at least two numbers"),
        ({"domain": Categorical([0, 1])}, "must be Ordinal or Interval"),
        ({"step": 0.3}, "power of two"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ParameterError, match=message):
        SampledVarianceGaussian(**{"domain": STARS, "epsilon": 1.0, "delta": 0.1, **options})


def test_counts_are_checked():
    mechanism = SampledVarianceGaussian(domain=STARS, epsilon=1.0, delta=0.1)
    assert mechanism.guarantee(answers=10**7).worker_epsilon >= 1e7
    for answers in (0, 10**7 + 1, 1.5):
        with pytest.raises(ParameterError, match="answers must be a whole number"):
            mechanism.guarantee(answers=answers)
    with pytest.raises(ParameterError, match="tasks must be"):
        mechanism.guarantee(answers=20, tasks=10)
    with pytest.raises(ParameterError, match="no parameter 'variance'; it has rate, delta, least"):
        SampledVarianceGaussian.from_claimed_epsilon(domain=STARS, epsilon=1.0, variance=2.0)


def test_answers_in_another_domain_are_refused():
    mechanism = SampledVarianceGaussian(domain=STARS, epsilon=1.0, delta=0.1)
    with pytest.raises(AnswerError, match="the mechanism takes"):
        mechanism.randomize(crowd(UNIT, workers=2, answers=2))


def test_a_description_with_less_noise_is_refused():
    data = SampledVarianceGaussian(domain=STARS, epsilon=1.0, delta=0.1).to_dict()
    assert data["mechanism"] == "sampled-variance"
    with pytest.raises(FormatError, match="variance_unit should be"):
        Mechanism.from_dict({**data, "variance_unit": 1e-12})
    with pytest.raises(FormatError, match="cannot be read"):
        Mechanism.from_dict({**data, "delta": None})
    with pytest.raises(FormatError, match="lacks the key 'rate'"):
        Mechanism.from_dict({key: value for key, value in data.items() if key != "rate"})


def test_it_is_known_on_the_command_line():
    _, maker = choose_mechanism("sampled-variance:delta=0.05:least_variance=2")
    mechanism = maker(domain=STARS, epsilon=1.0)
    assert mechanism == SampledVarianceGaussian(
        domain=STARS, epsilon=1.0, delta=0.05, least_variance=2.0
    )


def test_a_grid_on_which_nothing_can_be_proved_is_refused():
    domain = Ordinal([0, 1, 2, 3, 4])
    with pytest.raises(ParameterError, match=r"step=1 leaves a grid of 4 steps.*finer step"):
        SampledVarianceGaussian(domain=domain, rate=0.5, delta=0.1, step=1)
    assert SampledVarianceGaussian(domain=domain, rate=0.5, delta=0.1).guarantee(2).delta < 0.1
