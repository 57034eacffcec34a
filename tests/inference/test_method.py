import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import METHODS


@pytest.mark.parametrize("kind", METHODS.values(), ids=METHODS)
def test_parameters_make_an_equal_method(kind):
    method = kind(random_state=7)
    parameters = method.get_params()
    assert parameters["random_state"] == 7
    assert kind(**parameters) == kind().set_params(**parameters) == method


def test_setting_leaves_the_method_as_it_is():
    vote = qc.WeightedVote()
    assert vote.set_params(smoothing=2).smoothing == 2
    assert vote == qc.WeightedVote()
    assert vote.set_params() == vote


@pytest.mark.parametrize("parameters", [{"smoothin": 1}, {"smoothing": -1}, {"smoothing": "x"}])
def test_wrong_parameters(parameters):
    with pytest.raises(ParameterError, match="smoothing"):
        qc.WeightedVote().set_params(**parameters)


def test_a_clone_knows_no_data_and_is_what_scikit_learn_asks_for():
    method = qc.DawidSkene(one_coin=True)
    assert method.clone() == method.__sklearn_clone__() == method
    assert isinstance(method.clone(), qc.DawidSkene)
