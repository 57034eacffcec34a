import numpy as np
import pytest
from scipy.integrate import quad
from tests.synthesis.crowds import claims_of, normal_claims

from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.synthesis.pris_crowd import PrisCrowd

UNRELIABLE = [[0.0, 0.2, -0.1, 0.1, 9.0], [5.0, 5.1, 4.9, 5.2, -7.0], [1.0, 1.1, 0.8, 1.2, 20.0]]


@pytest.fixture(scope="module")
def density():
    return PrisCrowd(epsilon0=1.0, bandwidth=0.5, weights="local").fit(claims_of(UNRELIABLE))


@pytest.mark.slow
@pytest.mark.parametrize("weighting", [None, "uniform", "local", "global", "combined"])
def test_densities_are_densities(density, weighting):
    area, _ = quad(
        lambda x: float(density.pdf("t00001", x, weighting)), -20, 20, points=[-7, 5], limit=200
    )
    assert area == pytest.approx(1.0)
    claims = density.claim_weights(weighting).reshape(3, 5)
    np.testing.assert_allclose(claims.sum(axis=1), 1.0)
    if weighting in ("local", "global", "combined"):
        assert (claims[:, 4] < 0.6 * claims[:, :4].min(axis=1)).all()


def test_the_default_weights_keep_the_floor(density):
    np.testing.assert_allclose(
        density.claim_weights(), 0.5 * density.local_weights + 0.5 * density.uniform_weights
    )
    assert density.claim_weights().min() >= 0.1


def test_reliabilities_and_weights_are_frames(density):
    frame = density.reliability
    assert list(frame) == ["task", "worker", "claim", "local", "global", "combined"]
    assert len(frame) == 15
    workers = density.workers.set_index("worker")["weight"]
    assert workers.idxmin() == "w004"
    assert "for the collector's eyes only" in repr(density)


def test_unknown_tasks_and_weightings_are_refused(density):
    with pytest.raises(AnswerError, match="task 'x' has no claims"):
        density.pdf("x", 0.0)
    with pytest.raises(ParameterError, match="weighting must be one of"):
        density.claim_weights("best")


def test_the_guarantee_is_that_of_the_public_numbers():
    claims = normal_claims(tasks=3, users=30)
    method = PrisCrowd(epsilon0=2.0, bandwidth=0.5, claims=5)
    guarantee = method.fit(claims).guarantee(1e-3)
    assert guarantee == method.guarantee(30, answers=3, tasks=3, delta=1e-3)
    assert guarantee.answers == 3
    assert guarantee.epsilon < guarantee.total_epsilon
