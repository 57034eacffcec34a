import numpy as np
import pytest
from tests.synthesis.crowds import claims_of

from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.pris_crowd import PrisCrowd


@pytest.fixture(scope="module")
def released():
    claims = claims_of([[1.0] * 9, [5.0, 5.0], [2.0, 2.1, 1.9, 2.0, 2.05, 2.1]])
    method = PrisCrowd(epsilon0=2.0, bandwidth=0.5, claims=20)
    return method.fit(claims).release(np.random.default_rng(0))


def test_frames_say_what_is_public(released):
    claims = released.claims
    assert list(claims) == ["task", "claim"]
    assert len(claims) == len(released)
    assert claims["task"].is_monotonic_increasing
    assert claims.groupby("task").size().to_dict() == {
        "t00000": released.passed[0],
        "t00002": released.passed[2],
    }
    tasks = released.tasks
    assert tasks["users"].tolist() == [9, 2, 6]
    assert tasks["attempts"].tolist() == [40, 0, 40]
    assert released.refused.to_dict("records") == [
        {"task": "t00001", "users": 2, "reason": "2 of at least 5 users"}
    ]
    assert "2 tasks, 1 refused, simulated" in repr(released)
    assert released.claims_as("pyarrow").column_names == ["task", "claim"]
    with pytest.raises(ParameterError, match="backend"):
        released.claims_as("spark")


def test_densities_are_of_the_synthetic_claims(released):
    densities = released.densities(np.full(3, 0.5))
    x = np.linspace(-10, 20, 3001)
    assert densities.pdf(0, x).sum() * 0.01 == pytest.approx(1.0)
    with pytest.raises(ParameterError, match="no points"):
        densities.pdf(1, x)
