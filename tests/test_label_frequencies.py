import numpy as np
import pytest

from quietcrowd.domains import Categorical, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.label_frequencies import as_label_frequencies, label_frequencies

ABC = Categorical(["a", "b", "c"])


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        (None, [1 / 3, 1 / 3, 1 / 3]),
        ({"b": 0.5}, [0.25, 0.5, 0.25]),
        ({"a": 0.1, "b": 0.2, "c": 0.7}, [0.1, 0.2, 0.7]),
        ({"a": 0.5, "b": 0.5}, [0.5, 0.5, 0.0]),
        ({"a": 0.1, "b": 0.2, "c": 0.7 + 1e-12}, [0.1, 0.2, 0.7]),
    ],
    ids=["none", "one", "all", "no rest", "dust"],
)
def test_labels_without_a_number_share_the_rest(prior, expected):
    found = label_frequencies(ABC, as_label_frequencies(prior))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_labels_are_told_by_what_they_print_as():
    levels = Ordinal([1, 2.5])
    prior = as_label_frequencies({2.5: np.float64(0.9)})
    assert prior == as_label_frequencies(prior) == (("2.5", 0.9),)
    np.testing.assert_allclose(label_frequencies(levels, prior), [0.1, 0.9])


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"d": 0.5}, r"prior: 'd' is not a label; the labels are \['a', 'b', 'c'\]"),
        ({"a": 0.3, "b": 0.3, "c": 0.3}, "prior must sum to 1 if it names all labels"),
    ],
    ids=["stranger", "too little"],
)
def test_frequencies_of_other_labels_are_refused(prior, message):
    with pytest.raises(ParameterError, match=message):
        label_frequencies(ABC, prior)


@pytest.mark.parametrize(
    "prior", ["no", 0.5, [1, 2], {1: 0.2, "1": 0.3}], ids=["text", "number", "list", "twice"]
)
def test_what_is_no_prior_is_refused(prior):
    with pytest.raises(ParameterError, match=r"prior must map each label to its frequency"):
        as_label_frequencies(prior)
