import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quietcrowd.answers import Answers
from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Categorical, Interval, Ordinal
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism, Memo, RandomizedResponse, Reports, SubsetSelection
from quietcrowd.mechanisms.randomized_response import RandomizedAmong
from quietcrowd.mechanisms.randomness import Secret, words_in_turn
from quietcrowd.task_options import TaskOptions

FALSE_ALARM = 1e-8
YES_NO = Categorical(["no", "yes"])


@given(st.integers(2, 64), st.floats(0.01, 10.0))
def test_exact_loss_is_at_most_what_was_asked_for_and_near_it(labels, epsilon):
    exact = RandomizedResponse(domain=Ordinal(range(labels)), epsilon=epsilon).guarantee().epsilon
    assert epsilon - 1e-4 <= exact <= epsilon


@pytest.mark.parametrize(
    ("epsilon", "flip"),
    # p = 1 / (1 + exp(epsilon)) at two labels
    [(1.0, 0.26894), (0.9, 0.28905), (0.5, 0.37754), (0.1, 0.47502), (0.001, 0.49975), (0.0, 0.5)],
)
def test_flip_probabilities_of_theorem_6_2(epsilon, flip):
    mechanism = RandomizedResponse(domain=YES_NO, epsilon=epsilon)
    assert mechanism.channel.probabilities[0, 1] == pytest.approx(flip, abs=5e-6)
    back = RandomizedResponse(domain=YES_NO, flip_probability=flip)
    assert back.claimed_epsilon == pytest.approx(epsilon, abs=5e-5)
    assert back.guarantee().epsilon == pytest.approx(epsilon, abs=5e-5)


@given(st.integers(2, 64))
def test_epsilon_0_tells_nothing(labels):
    mechanism = RandomizedResponse(domain=Ordinal(range(labels)), epsilon=0.0)
    assert mechanism.guarantee(answers=50).total_epsilon == 0.0


def test_flipping_more_often_than_not_loses_too():
    mechanism = RandomizedResponse(domain=YES_NO, flip_probability=0.9)
    assert mechanism.claimed_epsilon == pytest.approx(-math.log(9))
    assert mechanism.guarantee().epsilon == pytest.approx(math.log(9), abs=1e-8)
    assert not mechanism.guarantee().claim_holds


@given(st.integers(2, 30), st.floats(0.001, 0.999))
def test_rounding_of_a_flip_probability_never_loses_more(labels, flip):
    exact = abs(math.log((1 - flip) * (labels - 1) / flip))
    mechanism = RandomizedResponse(domain=Ordinal(range(labels)), flip_probability=flip)
    assert mechanism.guarantee().epsilon <= exact + 1e-12


def test_a_worker_loses_the_sum_of_the_answers():
    guarantee = RandomizedResponse(domain=YES_NO, epsilon=0.5).guarantee(answers=20, tasks=100)
    assert guarantee.total_epsilon == pytest.approx(20 * guarantee.epsilon)
    assert guarantee.delta == 0
    assert not guarantee.participation_protected
    assert guarantee.claim_holds


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_empirical_channel(labels):
    crowd = make_crowd(
        tasks=20_000, workers=50, answers_per_task=10, labels=range(labels), random_state=labels
    )
    mechanism = RandomizedResponse(domain=crowd.answers.domain, epsilon=1.2)
    reports = mechanism.simulate(crowd.answers, random_state=labels)
    for answer in range(labels):
        counts = np.bincount(reports.table.values[crowd.answers.values == answer], minlength=labels)
        expected = mechanism.channel.probabilities[answer] * counts.sum()
        assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


def test_real_noise_differs_each_time_and_has_the_same_distribution():
    crowd = make_crowd(tasks=5_000, workers=50, random_state=3)
    mechanism = RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    one, other = (mechanism.randomize(crowd.answers).table.values for _ in range(2))
    assert not np.array_equal(one, other)
    kept = int((one == crowd.answers.values).sum())
    test = stats.binomtest(kept, len(one), mechanism.channel.probabilities[0, 0])
    assert test.pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"epsilon": 1.0, "flip_probability": 0.2},
        {"epsilon": -0.1},
        {"epsilon": 16.5},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": "1"},
        {"epsilon": True},
        {"flip_probability": 0.0},
        {"flip_probability": 1.0},
        {"flip_probability": 1.2},
        {"flip_probability": -0.1},
        {"flip_probability": 1e-9},
    ],
)
def test_bad_parameters(options):
    with pytest.raises(ParameterError):
        RandomizedResponse(domain=YES_NO, **options)


@pytest.mark.parametrize(
    "domain", [Categorical(["only"]), Interval(low=0, high=1), Ordinal(range(5000)), "yes"]
)
def test_bad_domains(domain):
    with pytest.raises(ParameterError):
        RandomizedResponse(domain=domain, epsilon=1.0)


def test_answers_in_another_domain_and_a_bad_generator():
    crowd = make_crowd(tasks=3, workers=10)
    mechanism = RandomizedResponse(domain=Categorical(["yes", "no"]), epsilon=1.0)
    with pytest.raises(AnswerError, match=r"the answers are in Categorical\(\['no', 'yes'\]\)"):
        mechanism.randomize(crowd.answers)
    fitting = RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    for wrong in (None, -1, 0.5, "7", np.random.RandomState(1)):
        with pytest.raises(ParameterError) as raised:
            fitting.simulate(crowd.answers, random_state=wrong)
        assert (raised.value.code, raised.value.fields["name"]) == (
            "parameters.not-whole",
            "random_state",
        )


def test_a_frame_is_randomized_and_a_seed_is_a_generator():
    crowd = make_crowd(tasks=3, workers=10)
    mechanism = RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    frame = crowd.answers.to_frame()
    assert len(mechanism.randomize(frame).table) == len(crowd.answers)
    one = mechanism.simulate(frame, random_state=7)
    other = mechanism.simulate(crowd.answers, random_state=7)
    assert one.simulated
    assert one.table.values.tolist() == other.table.values.tolist()


@pytest.mark.parametrize(("answers", "tasks"), [(0, None), (-1, None), (1.5, None), (3, 2)])
def test_bad_counts(answers, tasks):
    with pytest.raises(ParameterError):
        RandomizedResponse(domain=YES_NO, epsilon=1.0).guarantee(answers=answers, tasks=tasks)


def test_descriptions_round_trip_and_are_checked():
    for mechanism in (
        RandomizedResponse(domain=YES_NO, epsilon=0.1),
        RandomizedResponse(domain=Ordinal([1, 2, 3]), flip_probability=1 / 3),
    ):
        data = mechanism.to_dict()
        assert Mechanism.from_dict(data) == mechanism
        for change in (
            {"version": 2},
            {"mechanism": "three-layer"},
            {"other_weight": data["other_weight"] + 1},
            {"epsilon": "much"},
            {"domain": {"kind": "tree"}},
        ):
            with pytest.raises(FormatError):
                Mechanism.from_dict(data | change)
        for key in data:
            with pytest.raises(FormatError):
                Mechanism.from_dict({name: data[name] for name in data if name != key})


def test_memory_of_reports_is_that_of_labels():
    crowd = make_crowd(tasks=100, workers=20)
    reports = RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0).randomize(crowd.answers)
    assert reports.table.values.dtype == np.uint8
    assert isinstance(reports.table, Answers)


FRAME = pd.DataFrame(
    [("q1", "a", "cat"), ("q1", "b", "dog"), ("q2", "a", "elm"), ("q3", "b", "only")],
    columns=["task", "worker", "label"],
)
OPTIONS = {"q2": ["oak", "elm", "fir"], "q1": ["dog", "cat"], "q3": ["only"]}


def among_options(epsilon=1.0):
    options = TaskOptions.read(OPTIONS)
    mechanism = RandomizedResponse(domain=options.domain, epsilon=epsilon)
    return mechanism.for_options(options)


@given(st.integers(2, 12), st.floats(0.0, 12.0))
def test_the_channel_of_a_task_is_that_of_its_number_of_options(size, epsilon):
    """For each number of options the loss is at most epsilon, in exact rational numbers."""
    options = TaskOptions.read({"q": range(size)}, Categorical(range(20)))
    mechanism = RandomizedResponse(domain=options.domain, epsilon=epsilon).for_options(options)
    own = RandomizedResponse(domain=Categorical(range(size)), epsilon=epsilon)
    assert mechanism.channel_for(size) == own.channel
    weights = own.channel.weights.tolist()
    assert {sum(row) for row in weights} == {2**32}
    worst = max(Fraction(max(column), min(column)) for column in zip(*weights, strict=True))
    with localcontext(prec=60):
        ratio = Decimal(worst.numerator) / worst.denominator
        assert ratio <= Decimal(mechanism.guarantee().epsilon).exp()
        assert ratio <= Decimal(epsilon).exp()


@pytest.mark.parametrize("task", ["q1", "q2", "q3"])
def test_every_word_gives_a_report_among_the_options_by_the_channel(task):
    """Enumerates the distribution: reports change only at the sums of the weights."""
    mechanism, labels = among_options(), OPTIONS[task]
    size = len(labels)
    weights = mechanism.channel_for(size).weights.astype(int) if size > 1 else np.array([[2**32]])
    for answer, row in zip(labels, weights, strict=True):
        given = pd.DataFrame({"task": [task], "worker": ["a"], "label": [answer]})
        ends = np.cumsum(row)
        for label, first, last in zip(labels, ends - row, ends - 1, strict=True):
            for word in {first, last}:
                words = words_in_turn(np.array([word], np.uint32))
                answers = Answers.from_frame(given, mechanism.domain, options=OPTIONS)
                reports = mechanism.reports_of_words(answers, words)
                assert reports.table.to_frame()["label"].tolist() == [label]


def test_answers_with_options_are_randomized_among_them():
    answers = Answers.from_frame(FRAME, options=OPTIONS)
    mechanism = RandomizedResponse(domain=answers.domain, epsilon=0.0)
    seen = {task: set() for task in OPTIONS}
    for seed in range(60):
        table = mechanism.simulate(answers, random_state=seed).table
        assert table.options == answers.canonical.options
        for task, label in zip(*table.to_frame()[["task", "label"]].to_numpy().T, strict=True):
            seen[task].add(label)
    assert seen == {task: set(labels) for task, labels in OPTIONS.items()}
    assert mechanism.randomize(answers).mechanism.options == answers.canonical.options


def test_a_frame_is_read_with_the_options_of_the_mechanism():
    mechanism = among_options()
    reports = mechanism.randomize(FRAME)
    assert reports.mechanism == mechanism
    assert reports.table.options.tasks.to_pylist() == ["q1", "q2", "q3"]
    plain = Answers.from_frame(FRAME, mechanism.domain)
    assert mechanism.randomize(plain).mechanism == mechanism
    with pytest.raises(AnswerError, match="'oak' is not an option of task 'q1'"):
        mechanism.randomize(FRAME.replace("cat", "oak"))
    other = {**OPTIONS, "q1": ["cat", "dog"]}
    with pytest.raises(AnswerError, match="options of the answers are not those of the mechanism"):
        mechanism.randomize(Answers.from_frame(FRAME, mechanism.domain, options=other))
    some = Answers.from_frame(FRAME[:2], mechanism.domain, options=OPTIONS)
    assert mechanism.randomize(some).mechanism == mechanism


def test_the_loss_of_answers_with_options_adds_up():
    mechanism = among_options()
    found = mechanism.guarantee(answers=3)
    assert 0.999 < found.epsilon <= 1.0
    assert found.total_epsilon == pytest.approx(3 * found.epsilon)
    assert mechanism.tail(1e-6, answers=100).total_epsilon < found.epsilon * 100
    assert not mechanism.is_uninformative
    assert among_options(0.0).is_uninformative


def test_options_are_in_the_description():
    mechanism = among_options()
    described = json.loads(json.dumps(mechanism.to_dict()))
    assert Mechanism.from_dict(described) == mechanism
    assert hash(Mechanism.from_dict(described)) == hash(mechanism)
    assert "options" not in RandomizedResponse(domain=YES_NO, epsilon=1.0).to_dict()
    for options in (None, {}, {"tasks": ["q"], "options": [["tea"]]}, {"tasks": [], "options": []}):
        with pytest.raises(FormatError):
            Mechanism.from_dict({**described, "options": options})


def test_options_change_the_identity_of_the_channel():
    mechanism = among_options()
    other = TaskOptions.read({**OPTIONS, "q1": ["dog", "elm"]}, mechanism.domain)
    changed = RandomizedResponse(domain=mechanism.domain, epsilon=1.0).for_options(other)
    swapped = TaskOptions.read({**OPTIONS, "q1": ["cat", "dog"]}, mechanism.domain)
    same = RandomizedResponse(domain=mechanism.domain, epsilon=1.0).for_options(swapped)
    plain = RandomizedResponse(domain=mechanism.domain, epsilon=1.0)
    identities = [json.dumps(one.channel_identity) for one in (mechanism, changed, plain)]
    assert len(set(identities)) == 3
    assert same.channel_identity == mechanism.channel_identity


def test_what_needs_one_channel_is_refused():
    mechanism = among_options()
    message = "there is no single channel, because each task has its own options"
    with pytest.raises(ParameterError, match=message):
        _ = mechanism.channel
    answers = Answers.from_frame(FRAME, options=OPTIONS)
    with pytest.raises(
        ParameterError, match="SubsetSelection does not randomize among the options"
    ):
        SubsetSelection(domain=answers.domain, epsilon=1.0).randomize(answers)
    for parameters in ({"flip_probability": 0.2}, {"epsilon": 1.0, "missing": "category"}):
        with pytest.raises(ParameterError, match="options per task need epsilon="):
            RandomizedResponse(domain=answers.domain, **parameters).randomize(answers)
    with pytest.raises(AnswerError, match="both have options per task, or neither"):
        Reports(table=answers, mechanism=RandomizedResponse(domain=answers.domain, epsilon=1.0))
    with pytest.raises(AnswerError, match="the answers are in"):
        RandomizedResponse(domain=YES_NO, epsilon=1.0).randomize(answers)


def test_a_memo_has_reports_among_the_options(tmp_path):
    """Each is an option of its task, the same for the same answer, and drawn by its channel."""
    mechanism = among_options(epsilon=16.0)
    given = {"mechanism": mechanism, "tasks": list(OPTIONS), "campaign": "c", "worker": "w"}
    memo = Memo.open(tmp_path / "memo", **given)
    answers = {task: labels[-1] for task, labels in OPTIONS.items()}
    first, again = memo.report(answers), memo.report(answers)
    assert first.to_frame("pyarrow").equals(again.to_frame("pyarrow"))
    kept = dict(zip(first.to_frame()["task"], first.to_frame()["label"], strict=True))
    assert kept == answers  # fails with a probability below 10^-6
    some = memo.report({"q2": OPTIONS["q2"][-1]})
    assert some.table.options == mechanism.per_task
    with pytest.raises(AnswerError, match="task 'q1': the answer is outside") as caught:
        memo.report({"q1": "oak"})
    assert "'oak'" not in str(caught.value)


def among(**changed):
    return RandomizedAmong(**{"domain": DOMAIN, "epsilon": 1.0, "counts": [3, 2, 2], **changed})


DOMAIN = Categorical(["cat", "dog", "oak", "elm", "fir"])


def test_a_campaign_fixes_only_how_many_options_there_are():
    mechanism = among()
    assert mechanism.option_counts == (2, 3)
    described = json.loads(json.dumps(mechanism.to_dict()))
    assert Mechanism.from_dict(described) == mechanism
    assert RandomizedResponse(domain=YES_NO, epsilon=1.0).among(DOMAIN, [2, 3]) == mechanism
    options = TaskOptions.read({"q1": ["cat", "dog"], "q2": ["oak", "elm", "fir"]}, DOMAIN)
    bound = mechanism.for_options(options)
    assert bound.options == options
    assert bound.report_epsilon == mechanism.report_epsilon == mechanism.channel.epsilon
    assert bound.guarantee(answers=2, linked=2) == mechanism.guarantee(answers=2, linked=2)


@pytest.mark.parametrize("counts", [(), [1, 2], [6], [65], "23", 2, [2.0], [True], None])
def test_other_counts_are_refused(counts):
    with pytest.raises(ParameterError, match="option_counts must list how many"):
        among(counts=counts)


def test_without_the_options_of_its_tasks_it_randomizes_nothing():
    answers = Answers.from_frame(FRAME[:3], DOMAIN)
    for act in (among().randomize, lambda one: among().simulate(one, random_state=1)):
        with pytest.raises(ParameterError, match="the options of a task are missing"):
            act(answers)
    with pytest.raises(ParameterError, match="the options of a task are missing"):
        among().fixed_reports(answers, Secret.draw("test"))
    with pytest.raises(ParameterError, match="their number is not one of"):
        among(counts=[2]).randomize(
            answers.with_options({one: OPTIONS[one] for one in ("q1", "q2")})
        )
