"""Every method and mechanism passes the battery, and the battery convicts broken ones."""

import attrs
import numpy as np
import pytest

from quietcrowd.domains import Categorical, Ordinal
from quietcrowd.inference import METHODS, MajorityVote, WeightedVote
from quietcrowd.inference.voting import sweep_votes
from quietcrowd.mechanisms import Mechanism, RandomizedResponse, TwoLayerRandomizedResponse
from quietcrowd.testing import assert_estimates_equal, check_mechanism, check_method

YES_NO = Categorical(["no", "yes"])


@pytest.mark.parametrize(
    "method", [*(kind() for kind in METHODS.values()), WeightedVote(smoothing=3)]
)
def test_methods_pass(method):
    check_method(method)


@pytest.mark.parametrize("kind", Mechanism.registry().values())
@pytest.mark.parametrize("domain", [YES_NO, Ordinal(range(5))])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_mechanisms_pass(kind, domain, epsilon):
    if kind is TwoLayerRandomizedResponse and domain.size > 2 and epsilon < 1:
        pytest.skip("two-layer at five labels needs a flip probability above 1 for this epsilon")
    check_mechanism(kind.from_claimed_epsilon(domain=domain, epsilon=epsilon))


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(domain=Ordinal(range(300)), epsilon=3.0),
        RandomizedResponse(domain=YES_NO, flip_probability=0.9),
        TwoLayerRandomizedResponse(domain=Ordinal(range(5)), low=0.1, high=0.1),
        TwoLayerRandomizedResponse(domain=Ordinal(range(5)), low=0.3, high=1.0),
    ],
)
def test_mechanisms_with_other_parameters_pass(mechanism):
    check_mechanism(mechanism)


class FirstLabelWins(MajorityVote):
    """Breaks ties by label order."""

    def sweep(self, partition, summary, state, estimates):
        tally = super().sweep(partition, summary, state, estimates)
        if estimates is not None:
            estimates.truths[estimates.tied] = 0
        return tally


class ForgetsPartitions(MajorityVote):
    """Weighs a worker by the code that a partition happens to see first."""

    def sweep(self, partition, summary, _, estimates):
        weights = np.ones(summary.workers, np.int64)
        weights[partition.worker_codes[partition.offsets[0]]] = 3
        return sweep_votes(
            partition, summary, weights=weights, nats=0.0, seed=self.seed, estimates=estimates
        )


@pytest.mark.parametrize("kind", [FirstLabelWins, ForgetsPartitions])
def test_broken_methods_are_convicted(kind):
    with pytest.raises(AssertionError):
        check_method(kind())


@attrs.frozen(kw_only=True, slots=False)
class MixesUpWorkers(RandomizedResponse):
    """Sends every report under another worker's name."""

    def _randomize(self, answers, rng):
        table = super()._randomize(answers, rng)
        return attrs.evolve(table, worker_codes=table.worker_codes[::-1])


def test_broken_mechanisms_are_convicted():
    with pytest.raises(AssertionError):
        check_mechanism(MixesUpWorkers(domain=YES_NO, epsilon=1.0))


def test_equal_estimates_are_equal_and_others_not():
    import quietcrowd as qc

    crowd = qc.synthetic_crowd(tasks=30, workers=10, answers_per_task=5)
    one, other = (WeightedVote(smoothing=s).fit(crowd.answers) for s in (1.0, 2.0))
    assert_estimates_equal(one, one)
    with pytest.raises(AssertionError):
        assert_estimates_equal(one, other)
