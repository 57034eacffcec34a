"""Reports that are no answers: whoever knows their table finds truths in them, others refuse."""

import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.inference import CRH, GLAD, DawidSkene, MajorityVote, NoiseAware, WeightedVote
from quietcrowd.inference.labels import noise_aware as noise_aware_labels
from quietcrowd.inference.method import TruthInference
from quietcrowd.inference.reading import Observations
from quietcrowd.mechanisms import RandomizedResponse
from quietcrowd.mechanisms.channels import TableChannel

CROWD = qc.make_crowd(tasks=120, workers=30, answers_per_task=12, random_state=1)

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")


class TwoBits(RandomizedResponse):
    """A bit for each label."""

    report_domain = qc.Categorical(["00", "01", "10", "11"])

    @property
    def channel(self):
        bits = np.array([[int(one) for one in name] for name in self.report_domain.labels])
        kept = (bits[np.newaxis] == np.eye(2)[:, np.newaxis]).sum(axis=2)
        return TableChannel.rounded(0.8**kept * 0.2 ** (2 - kept))


class OtherNames(RandomizedResponse):
    """As many reports as answers, with other names."""

    report_domain = qc.Categorical(["left", "right"])


class NoTable(TwoBits):
    """Its workers draw something that changes their distribution."""

    worker_channel = None


def reports_of(kind):
    mechanism = kind(domain=CROWD.answers.domain, epsilon=2.0)
    return mechanism.simulate(CROWD.answers, random_state=0)


@pytest.mark.parametrize("kind", [TwoBits, OtherNames])
def test_truths_are_answers_whatever_reports_are(kind):
    reports = reports_of(kind)
    found = NoiseAware().fit(reports)
    assert set(found.truths["truth"]) == {"no", "yes"}
    # About 5 % are wrong; that the noise makes it 25 % of 120 has a probability below 1e-9.
    assert qc.error_rate(found, CROWD.truths) < 0.25
    workers = found.workers.set_index("worker")
    assert workers["agreement"].isna().all()
    frame = CROWD.answers.to_frame().merge(CROWD.truths.to_pandas(), on="task")
    right = (frame["label_x"] == frame["label_y"]).groupby(frame["worker"]).mean()
    # Each interval contains its accuracy with probability .9: below .5 of 30, a chance of 1e-8.
    assert workers["accuracy"].between(workers["accuracy_low"], workers["accuracy_high"]).all()
    inside = right.between(workers["accuracy_low"], workers["accuracy_high"])
    assert inside.mean() > 0.5
    assert Observations.read(reports, NoiseAware()).summary.domain == CROWD.answers.domain
    again = NoiseAware().fit(reports, found, gold=CROWD.truths.slice(0, 30))
    known = CROWD.truths["label"].to_pylist()[:30]
    truths = again.truths.set_index("task")["truth"]
    assert list(truths.loc[CROWD.truths["task"].to_pylist()[:30]]) == known


def test_new_tasks_are_found_beside_earlier_ones():
    frame = CROWD.answers.to_frame()
    mechanism = TwoBits(domain=CROWD.answers.domain, epsilon=2.0)
    earlier, new = (
        mechanism.simulate(qc.Answers.from_frame(rows, mechanism.domain), random_state=0)
        for rows in (frame[frame["task"] < 100], frame[frame["task"] >= 100])
    )
    found = NoiseAware().extend(NoiseAware().fit(earlier), new)
    assert len(found.truths) == 20
    assert set(found.truths["truth"]) <= {"no", "yes"}


@pytest.mark.parametrize("kind", [TwoBits, OtherNames])
@pytest.mark.parametrize(
    "method", [MajorityVote(), WeightedVote(), DawidSkene(), GLAD(), CRH(loss="zero-one")]
)
def test_what_reads_reports_as_answers_refuses_others(kind, method):
    with pytest.raises(AnswerError, match=r"reads reports as answers.*--method noise-aware"):
        method.fit(reports_of(kind))


def test_where_no_other_method_reads_the_reports_none_is_named(monkeypatch):
    monkeypatch.setattr(noise_aware_labels, "MOST_CELLS", 100)
    with pytest.raises(ParameterError, match=r"Use fewer labels; no other method supports such"):
        NoiseAware().fit(reports_of(TwoBits))


@pytest.mark.parametrize("method", [NoiseAware(), MajorityVote()])
def test_without_a_table_it_is_said_what_is_missing(method):
    with pytest.raises(AnswerError, match="finite channel"):
        method.fit(reports_of(NoTable))


def test_numbers_and_null_are_read_as_before():
    null = RandomizedResponse(domain=CROWD.answers.domain, epsilon=2.0, missing="category")
    assert TruthInference.truth_domain(MajorityVote(), null) == null.domain
    assert NoiseAware().truth_domain(null) == null.domain
    noisy = qc.LaplaceMechanism(domain=qc.Ordinal(range(5)), epsilon=2.0)
    assert NoiseAware().truth_domain(noisy) == noisy.report_domain
