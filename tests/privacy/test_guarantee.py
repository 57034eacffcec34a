from quietcrowd.domains import Categorical
from quietcrowd.mechanisms import RandomizedResponse, TwoLayerRandomizedResponse
from quietcrowd.privacy import PrivacyGuarantee

BINARY = Categorical([0, 1])


def test_it_reads_as_one_paragraph_of_80_columns():
    text = str(RandomizedResponse(domain=BINARY, epsilon=1.0).guarantee())
    flowing = " ".join(text.split())
    assert flowing.startswith(
        "A worker who gives 1 answer loses at most epsilon = 1 about one of them. "
        "Whether a task was answered is not protected. The paper's claim of 1 holds. "
    )
    assert max(map(len, text.splitlines())) <= 80


def test_a_claim_that_does_not_hold_is_said_not_to():
    two_layer = TwoLayerRandomizedResponse.from_claimed_epsilon(domain=BINARY, epsilon=1.0)
    text = " ".join(str(two_layer.guarantee(answers=277)).split())
    assert (
        "epsilon = 5.624 about one of them, given the others, and 189.1 about all together" in text
    )
    assert "The paper's claim of 1 does not hold." in text


def test_delta_and_participation_are_told():
    guarantee = PrivacyGuarantee(
        answers=2,
        epsilon=1.0,
        worker_epsilon=2.0,
        delta=1e-6,
        participation_protected=True,
        claimed_epsilon=1.0,
        assumptions=("none",),
        source="nowhere",
    )
    text = " ".join(str(guarantee).split())
    assert "but for a probability delta = 1e-06." in text
    assert "Whether a task was answered is protected alike." in text
