import json

import pytest
from tests.campaign.mechanisms import LABELS, MECHANISMS
from tests.campaign.promises import PROMISES
from tests.campaign.terms.test_configuration import build
from tests.campaign.terms.test_rounds import rounds

import quietcrowd as qc
from quietcrowd.campaign.terms.menu import CHOICE, Menu, chosen, count_choices, with_menu
from quietcrowd.campaign.terms.promises import Promises
from quietcrowd.exceptions import ParameterError

STRONG, WEAK = (qc.RandomizedResponse(domain=LABELS, epsilon=epsilon) for epsilon in (0.5, 4.0))
LATEST = {"promises": Promises(**PROMISES), "requester_id": 32 * "a", "drafts": True}


def menu(*mechanisms, **changed):
    mechanisms = mechanisms or (WEAK, STRONG)
    return Menu(**{"mechanisms": mechanisms, "shares": (0.3, 0.7), **changed})


def config(**changed):
    return json.loads(build(**{**LATEST, "mechanism": menu(), **changed}).text)


def test_entries_are_ordered_by_loss_with_their_shares():
    told = config()
    assert told["version"] == 6
    assert told["menu"]["shares"] == [0.7, 0.3]
    losses = [one["guarantee"]["answer_epsilon"] for one in told["menu"]["entries"]]
    assert losses == pytest.approx([0.5, 4.0], rel=1e-3)
    assert told["menu"]["expected"] is None
    assert "mechanism" not in told


@pytest.mark.parametrize("given", [{}, {"rounds": rounds()}, {"allotment": "random", "answers": 2}])
def test_a_choice_has_the_configuration_of_one_mechanism(given):
    told = config(**given)
    assert count_choices(told) == 2
    for choice, mechanism in enumerate((STRONG, WEAK)):
        alone = json.loads(build(**{**LATEST, "mechanism": mechanism, **given}).text)
        flat = chosen(told, choice)
        assert flat["consent"] == [*alone["consent"], CHOICE]
        assert flat["summary"][:-2] == alone["summary"][:-1]
        same = {name for name in alone if flat[name] == alone[name]}
        assert alone.keys() - same <= {"version", "consent", "summary"}
        assert flat.keys() == alone.keys()
    flats = [chosen(told, choice) for choice in (1, 0)]
    assert with_menu(flats, menu()) == told


def test_a_configuration_without_a_menu_is_chosen_as_it_is():
    told = json.loads(build(**LATEST).text)
    assert told["version"] == 5
    assert chosen(told, None) == told
    for alone, choice in ((told, 0), (config(), None), (config(), 2), (config(), True)):
        with pytest.raises(ParameterError, match="choice"):
            chosen(alone, choice)


@pytest.mark.parametrize(
    "make",
    [
        lambda: menu(STRONG),
        lambda: menu(STRONG, STRONG),
        lambda: menu(STRONG, MECHANISMS["one-layer"]),
        lambda: menu(MECHANISMS["laplace"], MECHANISMS["laplace with a bit"]),
        lambda: menu(MECHANISMS["piecewise"], MECHANISMS["matrix factorisation, statistics"]),
        lambda: menu(shares=(0.5,)),
        lambda: menu(shares=(0.5, 0.6)),
        lambda: menu(shares=(0.0, 1.0)),
        lambda: menu(shares=(True, 0.5)),
        lambda: menu(expected={"error": 0.1}),
        lambda: menu(expected={"error": -0.1, "guess": 0.5}),
    ],
)
def test_what_is_no_menu_is_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_the_planner_estimates_an_error():
    expected = {"error": 0.24, "guess": 0.69}
    assert config(mechanism=menu(expected=expected))["menu"]["expected"] == expected


def test_a_menu_needs_what_the_newest_version_has():
    for name in ("promises", "requester_id", "drafts"):
        with pytest.raises(ParameterError, match="needs promises"):
            config(**{name: None})
