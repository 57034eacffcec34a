"""Every method and mechanism passes the battery, and the battery convicts broken ones."""

import attrs
import numpy as np
import pandas as pd
import pytest
from tests.mechanisms.added import added

from quietcrowd.answers import DroppedRows
from quietcrowd.domains import Categorical, Interval, Ordinal
from quietcrowd.inference import (
    METHODS,
    DawidSkene,
    KDEm,
    MajorityVote,
    RatioMean,
    WeightedMean,
    WeightedVote,
)
from quietcrowd.inference.labels.voting import MajorityModel
from quietcrowd.mechanisms import (
    DuchiMechanism,
    HybridMechanism,
    LaplaceMechanism,
    MatrixFactorization,
    Mechanism,
    OptimalMechanism,
    PiecewiseMechanism,
    RandomizedResponse,
    Reports,
    SubsetSelection,
    TwoLayerRandomizedResponse,
)
from quietcrowd.mechanisms.channels import Channel, TableChannel
from quietcrowd.testing import assert_estimates_equal, check_mechanism, check_method

YES_NO = Categorical(["no", "yes"])
STARS = Ordinal(range(1, 6))
DEGREES = Interval(low=-12.3, high=41.7)

NUMERIC = [
    LaplaceMechanism(domain=STARS, epsilon=1.0),
    LaplaceMechanism(domain=DEGREES, epsilon=0.1),
    LaplaceMechanism(domain=DEGREES, epsilon=30.0, fill=None),
    LaplaceMechanism(domain=STARS, epsilon=1.0, fill=2.0, step=1.0),
    LaplaceMechanism(domain=STARS, epsilon=2.0, fill="midpoint", scale="paper"),
    LaplaceMechanism(domain=STARS, epsilon=1.0, participation="released"),
    LaplaceMechanism(domain=DEGREES, epsilon=3.0, participation="released"),
    PiecewiseMechanism(domain=STARS, epsilon=1.0),
    PiecewiseMechanism(domain=DEGREES, epsilon=0.01),
    PiecewiseMechanism(domain=DEGREES, epsilon=4.0, step=1.0),
    DuchiMechanism(domain=STARS, epsilon=4.0),
    DuchiMechanism(domain=DEGREES, epsilon=0.5),
    HybridMechanism(domain=STARS, epsilon=0.5),
    HybridMechanism(domain=DEGREES, epsilon=2.0),
    MatrixFactorization(domain=STARS, epsilon=1.0),
    MatrixFactorization(domain=DEGREES, epsilon=0.1, profile="rademacher", fill=0.0),
    MatrixFactorization(domain=STARS, epsilon=1.0, profile="buckets", rank=20, seed=7),
    MatrixFactorization(domain=STARS, epsilon=1.0, variant="ridge"),
    MatrixFactorization(domain=STARS, epsilon=1.0, variant="statistics", fill=1.0),
]


NEEDS_REPORTS = {
    RatioMean: (LaplaceMechanism, {"epsilon": 1.0, "participation": "released"}),
}


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        *(kind() for kind in METHODS.values()),
        WeightedVote(smoothing=3),
        DawidSkene(one_coin=True),
        DawidSkene(smoothing=0, trust=0, class_smoothing=0),
        WeightedMean(floor=0.2),
        KDEm(truth="mean"),
    ],
)
def test_methods_pass(method):
    mechanism, parameters = NEEDS_REPORTS.get(type(method), (None, {}))
    check_method(method, mechanism, **parameters)


NAMED = {type(mechanism) for mechanism in NUMERIC} | {
    OptimalMechanism,
    RandomizedResponse,
    SubsetSelection,
    TwoLayerRandomizedResponse,
}
ADDED = added(STARS, NAMED).values()


def test_every_mechanism_is_tried():
    assert NAMED | {type(one) for one in ADDED} == set(Mechanism.registry().values())


@pytest.mark.slow
@pytest.mark.parametrize("kind", [RandomizedResponse, SubsetSelection, TwoLayerRandomizedResponse])
@pytest.mark.parametrize(
    ("domain", "epsilon"),
    # With five labels the two-layer mechanism can claim no less than ln 4.
    [
        (YES_NO, 0.0),
        (YES_NO, 0.5),
        (YES_NO, 2.0),
        (Ordinal(range(5)), 1.4),
        (Ordinal(range(5)), 3.0),
    ],
)
def test_mechanisms_pass(kind, domain, epsilon):
    check_mechanism(kind.from_claimed_epsilon(domain=domain, epsilon=epsilon))


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(domain=Ordinal(range(300)), epsilon=3.0),
        RandomizedResponse(domain=Ordinal(range(5)), epsilon=0.0),
        RandomizedResponse(domain=YES_NO, flip_probability=0.9),
        SubsetSelection(domain=Ordinal(range(20)), epsilon=1.0),
        SubsetSelection(domain=Ordinal(range(300)), epsilon=0.5),
        SubsetSelection(domain=STARS, epsilon=1.0, set_size=4),
        TwoLayerRandomizedResponse(domain=Ordinal(range(5)), low=0.1, high=0.1),
        TwoLayerRandomizedResponse(domain=Ordinal(range(5)), low=0.3, high=1.0),
        TwoLayerRandomizedResponse(
            domain=STARS, low=0.1, high=1, distribution="beta", alpha=2, beta=3
        ),
        RandomizedResponse(domain=YES_NO, epsilon=1.0, missing="category"),
        RandomizedResponse(domain=Ordinal(range(255)), epsilon=0.0, missing="category"),
        RandomizedResponse(domain=YES_NO, flip_probability=0.9, missing="category"),
        TwoLayerRandomizedResponse(domain=YES_NO, epsilon=0.0, distribution="epsilon"),
        TwoLayerRandomizedResponse(
            domain=YES_NO, epsilon=8.0, distribution="epsilon", missing="category"
        ),
        TwoLayerRandomizedResponse(
            domain=STARS, epsilon=0.5, distribution="epsilon", missing="category"
        ),
        OptimalMechanism(domain=STARS, epsilon=1.0, prior={1: 0.6}),
        OptimalMechanism(domain=YES_NO, epsilon=3.0),
        OptimalMechanism(domain=STARS, epsilon=0.0),
        OptimalMechanism(domain=Ordinal(range(12)), epsilon=0.5, information="fisher"),
        *NUMERIC,
        *ADDED,
    ],
)
def test_mechanisms_with_other_parameters_pass(mechanism):
    check_mechanism(mechanism)


class Harmless(MajorityVote):
    """Changes nothing: the battery must not convict it."""


def voting(sweep=MajorityModel.sweep, agreement=MajorityModel.agreement):
    """Return a majority vote whose model has other methods."""
    kind = type("Model", (MajorityModel,), {"sweep": sweep, "agreement": agreement})

    class Vote(MajorityVote):
        def model_for(self, summary):
            return kind(method=self, summary=summary)

    return Vote


def first_label_wins(model, partition, state, estimates):
    """Break ties by label order."""
    tally = MajorityModel.sweep(model, partition, state, estimates)
    if estimates is not None:
        estimates.truths[estimates.tied] = 0
    return tally


def forgets_partitions(model, partition, _, estimates):
    """Weigh a worker by the task that a partition happens to begin with."""
    weights = np.ones(model.summary.workers, np.int64)
    weights[partition.worker_codes[partition.offsets[0]]] = 3
    return model.tally_votes(partition, weights, estimates)


def praises_everybody(model, tally):
    """Say the same of every worker."""
    return np.where(np.isnan(MajorityModel.agreement(model, tally)), np.nan, 0.123)


def always_half_sure(model, partition, state, estimates):
    """Say the same of every truth."""
    tally = MajorityModel.sweep(model, partition, state, estimates)
    if estimates is not None:
        estimates.confidence[:] = 0.5
    return tally


def prefers_low_workers(model, partition, _, estimates):
    """Let a worker's place in the list decide."""
    weights = np.arange(model.summary.workers, 0, -1)
    return model.tally_votes(partition, weights, estimates)


FirstLabelWins = voting(first_label_wins)
ForgetsPartitions = voting(forgets_partitions)
PraisesEverybody = voting(agreement=praises_everybody)
AlwaysHalfSure = voting(always_half_sure)
PrefersLowWorkers = voting(prefers_low_workers)


@pytest.mark.slow
def test_a_harmless_method_passes():
    check_method(Harmless())


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "charge"),
    [
        (FirstLabelWins, "a tie is not sampled"),
        (ForgetsPartitions, "parts|different"),
        (PraisesEverybody, "agreement is too"),
        (AlwaysHalfSure, "confidence|fair share"),
        (PrefersLowWorkers, "different"),
    ],
)
def test_broken_methods_are_convicted_of_what_they_do(kind, charge):
    with pytest.raises(AssertionError, match=charge):
        check_method(kind())


class HarmlessMechanism(RandomizedResponse):
    """Changes nothing: the battery must not convict it."""


class MixesUpWorkers(RandomizedResponse):
    """Sends every report under another worker's name."""

    def _randomize(self, answers, rng):
        reports = super()._randomize(answers, rng)
        table = reports.table
        return attrs.evolve(
            reports, table=attrs.evolve(table, worker_codes=table.worker_codes[::-1])
        )


class TellsTheTruth(RandomizedResponse):
    """Sends the answers."""

    def _randomize(self, answers, rng):
        return Reports(table=answers, mechanism=self, simulated=rng is not None)


class AlwaysTheSameNoise(RandomizedResponse):
    """Draws real noise from a fixed seed."""

    def _randomize(self, answers, rng):
        reports = super()._randomize(answers, rng or np.random.default_rng(0))
        return attrs.evolve(reports, simulated=rng is not None)


class StatesTooLittle(RandomizedResponse):
    """Promises more privacy than it gives."""

    def guarantee(self, answers=1, tasks=None):
        true = super().guarantee(answers, tasks)
        return attrs.evolve(true, epsilon=true.epsilon / 100, total_epsilon=true.epsilon / 100)


class TellsWhatWasDropped(RandomizedResponse):
    """Lets a note on private answers out."""

    def _randomize(self, answers, rng):
        reports = super()._randomize(answers, rng)
        told = attrs.evolve(reports.table, dropped=DroppedRows(out_of_domain=1))
        return attrs.evolve(reports, table=told)


class KeepsTheOrderOfRows(RandomizedResponse):
    """Sends reports in the order in which the answers came."""

    def _checked(self, answers, participation_is_public):  # noqa: ARG002
        return answers


def test_a_harmless_mechanism_passes():
    check_mechanism(HarmlessMechanism(domain=YES_NO, epsilon=1.0))


@pytest.mark.parametrize(
    ("kind", "charge"),
    [
        (MixesUpWorkers, "workers are mixed up"),
        (TellsTheTruth, "real noise repeats"),
        (AlwaysTheSameNoise, "real noise repeats"),
        (StatesTooLittle, "the stated loss is too small"),
        (TellsWhatWasDropped, "dropped rows is revealed"),
        (KeepsTheOrderOfRows, "reveal the order of rows"),
    ],
)
def test_broken_mechanisms_are_convicted_of_what_they_do(kind, charge):
    with pytest.raises(AssertionError, match=charge):
        check_mechanism(kind(domain=YES_NO, epsilon=1.0))


def test_noise_of_another_channel_is_convicted():
    weak = RandomizedResponse(domain=YES_NO, epsilon=1.2)

    class TooLittleNoise(RandomizedResponse):
        def _randomize(self, answers, rng):
            return weak._randomize(answers, rng)

    with pytest.raises(AssertionError, match="reports do not follow the channel"):
        check_mechanism(TooLittleNoise(domain=YES_NO, epsilon=1.0))


@pytest.mark.slow
def test_estimates_are_compared_in_any_order_and_without_tied_tasks():
    rows = [("a", "u", 0), ("a", "v", 1), ("b", "u", 1), ("b", "v", 1)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    one = MajorityVote().fit(frame, non_private=True)
    others = [
        MajorityVote(random_state=seed).fit(frame.iloc[::-1], non_private=True)
        for seed in range(20)
    ]
    for other in others:
        assert_estimates_equal(one, other, tied_tasks=False)
    differing = [other for other in others if other.truths["truth"].tolist() != [1, 1]]
    assert differing
    assert len(differing) < len(others)


def test_equal_estimates_are_equal_and_others_not():
    import quietcrowd as qc

    crowd = qc.make_crowd(tasks=30, workers=10, answers_per_task=5)
    one, other = (WeightedVote(smoothing=s).fit(crowd.answers) for s in (1.0, 2.0))
    assert_estimates_equal(one, one)
    with pytest.raises(AssertionError):
        assert_estimates_equal(one, other)


class DistributionOfEachReport(Channel):
    """The distribution of a randomised response, of which only likelihoods are told."""

    def __init__(self, table: TableChannel):
        self._table = table

    def __eq__(self, other):
        return isinstance(other, DistributionOfEachReport) and self._table == other._table

    __hash__ = None

    @property
    def epsilon(self):
        return self._table.epsilon

    def log_likelihood(self, reports, answers):
        return self._table.log_likelihood(reports, answers)


class TellsLikelihoods(RandomizedResponse):
    """Is the same, and tells nothing but likelihoods of its distribution."""

    excess = 0.0

    @property
    def channel(self):
        return DistributionOfEachReport(super().channel)

    def replace(self, cells, workers, drawn, words):
        same = RandomizedResponse(domain=self.domain, epsilon=self.epsilon + self.excess)
        return same.replace(cells, workers, drawn, words)


class TellsOthersLikelihoods(TellsLikelihoods):
    """Draws with less noise than that."""

    excess = 0.2


def test_noise_is_checked_where_only_likelihoods_are_told():
    check_mechanism(TellsLikelihoods(domain=STARS, epsilon=1.0))
    with pytest.raises(AssertionError, match="reports do not follow the channel"):
        check_mechanism(TellsOthersLikelihoods(domain=STARS, epsilon=1.0))
