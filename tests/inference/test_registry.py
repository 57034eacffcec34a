import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.domains import Categorical, Interval, Ordinal
from quietcrowd.exceptions import AnswerError, FormatError, NoiseIgnoredWarning, ParameterError
from quietcrowd.inference import (
    METHODS,
    Mean,
    NoiseAware,
    WeightedMean,
    WeightedVote,
    method_from_dict,
    usual_method,
    usual_method_of,
)
from quietcrowd.inference.notices import report_warnings
from quietcrowd.mechanisms import (
    LaplaceMechanism,
    MatrixFactorization,
    Mechanism,
    RandomizedResponse,
    TwoLayerRandomizedResponse,
)


@pytest.mark.parametrize(
    "method", [*(kind() for kind in METHODS.values()), WeightedVote(random_state=2**60)]
)
def test_descriptions_round_trip(method):
    assert method_from_dict(method.to_dict()) == method


@pytest.mark.parametrize(
    "change",
    [
        {"method": "oracle"},
        {"method": None},
        {"version": 2},
        {"smoothing": -1},
        {"smoothing": "x"},
        {"sharpness": 1},
    ],
)
def test_bad_descriptions_are_format_errors(change):
    with pytest.raises(FormatError):
        method_from_dict(WeightedVote().to_dict() | change)


def test_a_missing_parameter_is_not_made_up():
    data = WeightedVote().to_dict()
    del data["smoothing"]
    with pytest.raises(FormatError, match="too much: smoothing"):
        method_from_dict(data)


LABELS, LEVELS = Categorical(["no", "yes"]), Ordinal(range(5))


@pytest.mark.parametrize(
    ("mechanism", "usual"),
    [
        (RandomizedResponse(domain=LABELS, epsilon=1.0), "noise-aware"),
        (RandomizedResponse(domain=LEVELS, epsilon=1.0, missing="category"), "noise-aware"),
        (TwoLayerRandomizedResponse(domain=LABELS, low=0.1, high=0.4), "noise-aware"),
        (LaplaceMechanism(domain=LEVELS, epsilon=1.0, fill=None), "noise-aware"),
        (LaplaceMechanism(domain=LEVELS, epsilon=1.0), "weighted-mean"),
        (LaplaceMechanism(domain=LEVELS, epsilon=1.0, participation="released"), "noise-aware"),
        (MatrixFactorization(domain=LEVELS, epsilon=1.0), "weighted-mean"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_reports_have_a_usual_method(mechanism, usual):
    assert usual_method(mechanism.report_domain, mechanism) == usual


@pytest.mark.parametrize(
    ("domain", "usual"),
    [
        (LABELS, "noise-aware"),
        (LEVELS, "noise-aware"),
        (Interval(low=0, high=1), "weighted-mean"),
    ],
)
def test_plain_answers_have_a_usual_method(domain, usual):
    assert usual_method(domain) == usual


@pytest.mark.parametrize("kind", Mechanism.registry().values(), ids=lambda kind: kind.name)
def test_a_method_without_a_model_of_the_noise_names_the_one_that_has_it(kind):
    for domain in (LABELS, LEVELS):
        try:
            mechanism = kind.from_claimed_epsilon(domain=domain, epsilon=1.0)
        except (ParameterError, TypeError):
            continue
        reads = [WeightedVote(), Mean()]
        told = [
            str(warning)
            for method in reads
            for warning in report_warnings(method, mechanism, simulated=False)
            if isinstance(warning, NoiseIgnoredWarning) and "ignores the noise" in str(warning)
        ]
        serves = usual_method(mechanism.report_domain, mechanism) == "noise-aware"
        assert told
        assert all(("--method noise-aware" in text) == serves for text in told), mechanism


CROWD = qc.make_crowd(tasks=60, workers=15, answers_per_task=6, random_state=1)
FRAME = CROWD.answers.to_frame()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")
def test_reports_and_plain_labels_are_read_by_what_knows_the_noise():
    mechanism = qc.RandomizedResponse(domain=CROWD.answers.domain, epsilon=3.0)
    for data in (mechanism.randomize(CROWD.answers), CROWD.answers, FRAME):
        estimate = qc.fit(data, non_private=True)
        assert estimate.method == NoiseAware()
        assert estimate.truths.equals(NoiseAware().fit(data, non_private=True).truths)


def test_floats_of_a_frame_are_numbers():
    numbers = FRAME.assign(label=FRAME["task"] * 1.5)
    assert isinstance(qc.fit(numbers, non_private=True).method, WeightedMean)
    assert usual_method_of(numbers.rename(columns={"worker": "performer"})) == "weighted-mean"


def test_known_truths_stay():
    known = dict.fromkeys(FRAME["task"].unique()[:3], "no")
    truths = qc.fit(FRAME, gold=known, non_private=True).truths.set_index("task")["truth"]
    assert truths.loc[list(known)].tolist() == ["no"] * 3


@pytest.mark.parametrize(
    ("answers", "labels", "told"), [(3, "ab", True), (6, "ab", False), (3, "abc", False)]
)
def test_a_note_names_a_vote_where_a_crowd_is_too_small_to_be_learnt(answers, labels, told):
    crowd = qc.make_crowd(
        tasks=40, workers=15, answers_per_task=answers, labels=[*labels], random_state=1
    )
    notes = " ".join(qc.fit(crowd.answers).notes)
    assert ("--method majority" in notes) == told


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")
def test_no_vote_is_named_for_reports():
    crowd = qc.make_crowd(tasks=40, workers=15, answers_per_task=3, random_state=1)
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=3.0)
    assert "majority" not in " ".join(qc.fit(mechanism.randomize(crowd.answers)).notes)


def test_no_answer_is_an_error():
    with pytest.raises(AnswerError, match="no answer"):
        qc.fit(pd.DataFrame({"task": [], "worker": [], "label": []}), non_private=True)
