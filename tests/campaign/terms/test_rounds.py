from fractions import Fraction

import pytest
from tests.campaign.promises import PROMISES

from quietcrowd.accounting.consent import show_most_sure
from quietcrowd.campaign.terms.promises import Promises
from quietcrowd.campaign.terms.rounds import MOST_KEPT, Rounds, spell_seconds
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference.rounds.history import KEPT_ROUNDS

ROUNDS = {
    "first": "2026-12-01T00:00:00Z",
    "length": 86_400,
    "count": 30,
    "cap": 30,
    "grace": 21_600,
    "window": 3,
    "step": 7,
    "division": "crowd",
    "facts": "fresh",
    "keep": 14,
}
FIRST = 1_796_083_200


def rounds(**changed):
    return Rounds(**{**ROUNDS, **changed})


def test_rounds_are_members_of_a_configuration_and_come_back():
    assert rounds().to_dict() == ROUNDS
    assert Rounds.read(ROUNDS) == rounds()
    for wrong in (None, [], {**ROUNDS, "tasks": 3}, {"length": 60}):
        with pytest.raises(ParameterError, match="members"):
            Rounds.read(wrong)


@pytest.mark.parametrize(
    "changed",
    [
        *({"first": first} for first in (None, "2026-12-01", "2026-02-30T00:00:00Z")),
        *({"first": first} for first in ("2026-12-01T00:00:30Z", "2026-12-01T00:00:00")),
        *({"length": length} for length in (59, 1e9, 60.0, True)),
        *({"count": count} for count in (29, 30.0, 0)),
        *({"cap": cap, "count": None} for cap in (0, 6, 10_001)),
        *({"grace": grace} for grace in (0, 86_401)),
        *({"window": window} for window in (0, 8)),
        *({"step": step} for step in (2, 31)),
        {"division": "people"},
        {"facts": "old"},
        {"facts": "lasting", "division": "budget"},
        *({"keep": keep} for keep in (0, MOST_KEPT + 1)),
    ],
)
def test_what_are_no_rounds_is_refused(changed):
    with pytest.raises(ParameterError):
        rounds(**changed)


def test_as_many_rounds_are_kept_as_an_estimate_stores():
    assert MOST_KEPT == KEPT_ROUNDS


def test_times():
    made = rounds()
    assert made.begin(0) == FIRST
    assert made.end(2) == made.begin(3) == FIRST + 3 * 86_400
    assert made.at(FIRST - 1) is None
    assert [made.at(FIRST + day * 86_400) for day in (0, 0.9, 1, 29.9, 30)] == [0, 0, 1, 29, None]


def test_every_slot_has_at_most_one_round_in_a_window():
    made = rounds()
    owned = [[t for t in range(30) if made.is_own(t, slot)] for slot in range(7)]
    assert sorted(t for own in owned for t in own) == list(range(30))
    assert max(map(len, owned)) == made.most == 5
    for start in range(30 - 7):
        assert all(sum(start <= t < start + 7 for t in own) <= 1 for own in owned)
    assert all(rounds(division="budget").is_own(t, None) for t in range(30))
    assert not made.is_own(30, 2)
    assert rounds(division="budget").slots == 1


def test_the_next_round_of_a_slot():
    made = rounds()
    assert [made.next_own(FIRST - 1, slot) for slot in (0, 6)] == [0, 6]
    assert [made.next_own(made.begin(8), slot) for slot in (0, 1, 2, 6)] == [14, 8, 9, 13]
    assert [made.next_own(made.begin(28), slot) for slot in (0, 1, 2)] == [28, 29, None]
    assert rounds(division="budget").next_own(made.end(29), None) is None


def test_reports_are_accepted_in_their_round_and_its_grace():
    made = rounds()
    begin, end = made.begin(8), made.end(8) + 21_600
    accepted = [made.accepts(8, 1, now) for now in (begin - 1, begin, end, end + 1)]
    assert accepted == [False, True, True, False]
    assert not made.accepts(8, 2, begin)


@pytest.mark.parametrize(
    ("changed", "window", "campaign", "fact"),
    [
        ({}, 1, 5, 1),
        ({"step": 3}, 1, 10, 1),
        ({"facts": "lasting"}, 1, 5, 5),
        ({"count": None, "cap": 29}, 1, 5, 1),
        ({"count": None, "cap": 28}, 1, 4, 1),
        ({"division": "budget"}, 3, 30, 1),
    ],
)
def test_losses(changed, window, campaign, fact):
    epsilon = 0.1
    made = rounds(**changed)
    losses = made.losses(epsilon)
    found = [losses.round, losses.window, losses.campaign, losses.fact]
    exact = [times * Fraction(epsilon) for times in (1, window, campaign, fact)]
    assert all(
        0 <= Fraction(one) / other - 1 < 1e-15 for one, other in zip(found, exact, strict=True)
    )
    said = " ".join(made.sentences(epsilon, Promises(**PROMISES)))
    assert "any 3 rounds in a row: someone who was 50 % sure" in said
    for loss in (losses.window, losses.campaign):
        assert show_most_sure(loss) in said
    assert ("draws one of" in said) == (made.division == "crowd")


def test_workers_are_told_when_rounds_are_shown_and_deleted():
    least, one = (Promises(**{**PROMISES, "at_least": at}) for at in (5, 1))
    said = " ".join(rounds(keep=1).sentences(0.1, least))
    assert "6 hours after its end, if at least 5 workers sent some" in said
    assert "after the next 1 round with results, and everything else" in said
    assert "Do not stay away from a round because of an answer" in said
    assert "The requester sees when you join" in " ".join(rounds().sentences(0.1, one))
    assert rounds().summary(5)[1] == "The requester sees a round when 5 people have answered."


def test_a_window_of_one_round_is_not_named():
    made = rounds(window=1, step=1)
    assert not any("in a row" in one for one in made.sentences(0.1, Promises(**PROMISES)))
    assert made.figures(0.1) == [(pytest.approx(3.0), "all your rounds, at most 30")]
    assert made.summary(1)[0] == "You answer every round. Missed rounds are not made up."


def test_durations():
    seconds = (86_400, 3_600, 90 * 60, 61)
    assert [*map(spell_seconds, seconds)] == ["1 day", "1 hour", "90 minutes", "61 seconds"]
