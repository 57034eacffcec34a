import pytest
from tests.synthesis.crowds import claims_of

from quietcrowd.domains import Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.claim_arrays import public_range


def test_it_is_the_domain_of_the_claims():
    assert public_range(claims_of([[1.0]], low=0, high=2)) == Interval(low=0, high=2)


def test_what_has_no_domain_has_no_range():
    with pytest.raises(ParameterError, match=r"claims must be Answers.*got list"):
        public_range([1.0, 2.0])
