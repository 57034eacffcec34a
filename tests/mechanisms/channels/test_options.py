import json

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels import OptionsChannel, read_channel

LABELS = qc.Categorical([f"label {place}" for place in range(64)])


def channel(counts, epsilon=1.0):
    mechanism = qc.RandomizedResponse(domain=LABELS, epsilon=epsilon).among(LABELS, counts)
    return mechanism.channel


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.5, 16.0])
def test_each_table_is_that_of_a_randomized_response(epsilon):
    found = channel([2, 3, 64], epsilon)
    for table in found.tables:
        few = qc.Categorical(range(table.answers))
        assert table == qc.RandomizedResponse(domain=few, epsilon=epsilon).channel
        assert found.table_for(table.answers) == table
        assert table.epsilon <= found.epsilon <= epsilon


def test_a_document_says_it_all():
    found = channel([2, 5])
    assert read_channel(json.loads(json.dumps(found.describe())), LABELS) == found
    assert found.probabilities is None
    assert isinstance(found, OptionsChannel)


def test_the_weakest_table_is_that_of_the_fewest_options():
    assert channel([3, 2, 9]).keeps.answers == 2


def test_tables_of_all_sizes_are_too_many():
    with pytest.raises(ParameterError, match="at most 20,000 numbers"):
        read_channel(channel(range(2, 64)).describe(), LABELS)
    read_channel(channel(range(2, 39)).describe(), LABELS)
