"""What workers do, step by step, and what has to come of it with any client."""

from attrs import Factory, evolve, field, frozen
from tests.campaign.conformance.cases import (
    AMONG_OPTIONS,
    ASKED,
    CAMPAIGN,
    COPIES,
    LABEL,
    MENU,
    NUMBERED,
    NUMBERS,
    WITH_OPTIONS,
    campaign_of,
)
from tests.campaign.mechanisms import MECHANISMS, relabelled
from tests.campaign.terms.test_rounds import rounds

import quietcrowd as qc
from quietcrowd.mechanisms.randomized_response import RandomizedAmong

REFUSED = "refused"
OTHER = 32 * "7"

ONE = campaign_of(LABEL)
LIKE_IT = campaign_of(LABEL, campaign=OTHER)
REVERSED = campaign_of(
    qc.RandomizedResponse(domain=qc.Categorical(["yes", "no"]), epsilon=1.0), campaign=OTHER
)
WEAKER = campaign_of(
    qc.RandomizedResponse(domain=LABEL.domain, epsilon=2.0), ASKED[:2], campaign=OTHER
)
TABLE = MECHANISMS["optimal"]
TURNED = relabelled(TABLE, 3)
SAME_TABLE = evolve(TURNED, weights=TABLE.weights)
NEAR = campaign_of(LABEL, [{"question": "IS there a bird, on picture a"}], campaign=OTHER)
SOMEBODY_ELSE = campaign_of(LABEL, campaign=OTHER, requester_id=32 * "b")
NEXT_DAY = campaign_of(LABEL, campaign=OTHER, as_of="2026-12-02")
OLDER = campaign_of(LABEL, campaign=OTHER, requester_id=None)
ONE_DAY = campaign_of(LABEL, as_of="2026-12-01")
SAME_DAY = campaign_of(LABEL, campaign=OTHER, as_of="2026-12-01")
OPTIONS = campaign_of(AMONG_OPTIONS, WITH_OPTIONS)
SOME_OPTIONS = campaign_of(
    evolve(AMONG_OPTIONS, domain=qc.Categorical(["dog", "fir", "elm", "cat", "oak", "ash"])),
    [
        WITH_OPTIONS[0],
        {"q": "A dog or an ash?", "options": ["dog", "ash"]},
        {"q": "Which tree?", "options": ["elm", "oak", "fir"]},
    ],
    campaign=OTHER,
)
TWENTY = campaign_of(evolve(NUMBERED, epsilon=16.0), [NUMBERS[0], NUMBERS[2]])
TWO = campaign_of(
    RandomizedAmong(domain=qc.Categorical([0, 1]), epsilon=16.0, counts=[2]),
    NUMBERS[:1],
    campaign=OTHER,
)
BOTH = {"t0": "yes", "t1": "no"}
ALL = {f"t{place}": "yes" for place in range(5)}


@frozen(kw_only=True)
class Play:
    """Steps of one device.

    Attributes
    ----------
    campaigns : tuple of Campaign
        That the server has.
    steps : list of tuple
        What is done, with what, and at last what it gives.
    uploads : list of int
        How many reports each different request with reports has, as the server got them in turn.
    marked : list of int
        How many of these are marked as sent again; none by default.
    equal : tuple of str
        Tasks that have the same report in the last of these.
    lose : int
        How many answers to uploads are lost.
    lose_places : int
        How many answers are lost to those who take their place.
    problem : str, optional
        Why no place is given.
    receipt : callable, optional
        What the server makes of a receipt.
    bound : dict
        What the server binds a worker to: choice, spent rounds; or another slot.
    rounds : list of int
        Round of each different request with reports; None without rounds.
    """

    campaigns: tuple = (ONE,)
    steps: list
    uploads: list = Factory(list)
    marked: list = Factory(list)
    equal: tuple = field(default=())
    lose: int = 0
    lose_places: int = 0
    problem: str | None = None
    receipt: object = None
    bound: dict = Factory(dict)
    rounds: list | None = None


def refusing(name, answers, campaign=ONE):
    """Return a play in which answers are refused, and nothing is drawn or spent."""
    return {
        name: Play(
            campaigns=(campaign,),
            steps=[
                ("join", campaign.id, None),
                ("answer", campaign.id, answers, REFUSED),
                ("spent", campaign.id, 0),
            ],
        )
    }


def doubting(name, change):
    """Return a play in which a receipt does not add up, or tells of a rejected report."""

    def receipt(document, items):
        change(document, items)
        return document

    return {
        f"receipt: {name}": Play(
            steps=[("answer", CAMPAIGN, BOTH, REFUSED)], uploads=[2], receipt=receipt
        )
    }


DAYS = rounds()
IN_ROUNDS = campaign_of(LABEL, drafts=True, rounds=DAYS)
EVERY_ROUND = campaign_of(LABEL, drafts=True, rounds=rounds(division="budget"))
WITH_MENU = campaign_of(MENU, drafts=True)


def within(number):
    """Return the step into a round."""
    return ("at", DAYS.begin(number) + 60, None)


def late(number):
    """Return the step to the moment after which nothing of a round is sent."""
    return ("at", DAYS.end(number) + DAYS.grace + 1, None)


OF_ROUNDS = {
    "rounds of one slot": Play(
        campaigns=(IN_ROUNDS,),
        steps=[
            ("draw_slot", 2, None),
            within(0),
            ("join", CAMPAIGN, None),
            ("next_round", CAMPAIGN, 2),
            ("answer", CAMPAIGN, BOTH, REFUSED),
            within(2),
            ("reload", None),
            ("answer", CAMPAIGN, BOTH, 2),
            ("answer", CAMPAIGN, ALL, REFUSED),
            ("next_round", CAMPAIGN, 9),
            within(3),
            ("answer", CAMPAIGN, ALL, REFUSED),
            within(9),
            ("answer", CAMPAIGN, ALL, 5),
            ("rounds_spent", CAMPAIGN, [5.0, 7.0, 25.0]),
            within(2),  # the clock was set back
            ("answer", CAMPAIGN, ALL, REFUSED),
            ("reload", None),
            ("answer", CAMPAIGN, ALL, REFUSED),
            within(29),
            ("reload", None),
            ("next_round", CAMPAIGN, None),
            ("answer", CAMPAIGN, ALL, REFUSED),
            ("spent", CAMPAIGN, 7),
        ],
        uploads=[2, 5],
        rounds=[2, 9],
    ),
    "every round": Play(
        campaigns=(EVERY_ROUND,),
        steps=[
            *(
                step
                for number in range(4)
                for step in (
                    within(number),
                    ("join", CAMPAIGN, None),
                    ("again", CAMPAIGN, [[], []]),
                    ("answer", CAMPAIGN, BOTH, 2),
                )
            ),
            ("rounds_spent", CAMPAIGN, [6.0, 8.0, 150.0]),
            ("withdraw", CAMPAIGN, None),
            within(4),
            ("answer", CAMPAIGN, BOTH, REFUSED),
            ("spent", CAMPAIGN, 8),
        ],
        uploads=[2, 2, 2, 2],
        rounds=[0, 1, 2, 3],
    ),
    "rounds, a budget": Play(
        campaigns=(EVERY_ROUND,),
        steps=[
            ("set_budget", 3.0, None),
            within(0),
            ("join", CAMPAIGN, None),
            ("answer", CAMPAIGN, BOTH, 2),
            within(1),
            ("answer", CAMPAIGN, BOTH, REFUSED),
            ("answer", CAMPAIGN, {"t1": "no"}, 1),
        ],
        uploads=[2, 1],
        rounds=[0, 1],
    ),
    "rounds, sent in the grace": Play(
        campaigns=(IN_ROUNDS,),
        steps=[
            ("draw_slot", 2, None),
            within(2),
            ("join", CAMPAIGN, None),
            ("commit", CAMPAIGN, BOTH, None),
            ("at", DAYS.end(2) + DAYS.grace, None),
            ("reload", None),
            ("send", CAMPAIGN, 2),
        ],
        uploads=[2],
        rounds=[2],
    ),
    "rounds, late": Play(
        campaigns=(IN_ROUNDS,),
        steps=[
            ("draw_slot", 2, None),
            within(2),
            ("join", CAMPAIGN, None),
            ("commit", CAMPAIGN, BOTH, None),
            late(2),
            ("send", CAMPAIGN, REFUSED),
            ("reload", None),
            ("send", CAMPAIGN, REFUSED),
            ("spent", CAMPAIGN, 2),
            within(9),
            ("reload", None),
            ("answer", CAMPAIGN, BOTH, 2),
            ("spent", CAMPAIGN, 4),
        ],
        uploads=[2],
        rounds=[9],
    ),
    "rounds that are over for a replaced invite": Play(
        campaigns=(IN_ROUNDS,),
        bound={"rounds": [3]},
        steps=[
            ("draw_slot", 3, None),
            within(3),
            ("join", CAMPAIGN, None),
            ("next_round", CAMPAIGN, 10),
            ("answer", CAMPAIGN, BOTH, REFUSED),
            within(10),
            ("answer", CAMPAIGN, BOTH, 2),
        ],
        uploads=[2],
        rounds=[10],
    ),
    **{
        f"a binding that is none: {bound}": Play(
            campaigns=(IN_ROUNDS,),
            bound=bound,
            steps=[
                ("draw_slot", 1, None),
                *(within(2), ("join", CAMPAIGN, REFUSED), ("answer", CAMPAIGN, BOTH, REFUSED)),
            ],
        )
        for bound in (
            *({"slot": 2}, {"slot": 7}, {"slot": None}, {"slot": True}, {"choice": 0}),
            *({"rounds": [1.5]}, {"rounds": 7}),
        )
    },
    "a choice": Play(
        campaigns=(WITH_MENU,),
        steps=[
            ("join", CAMPAIGN, REFUSED),
            ("answer", CAMPAIGN, BOTH, REFUSED),
            ("choose", CAMPAIGN, 2, None),
            ("join", CAMPAIGN, None),
            ("reload", None),
            ("answer", CAMPAIGN, BOTH, 2),
            ("spent", CAMPAIGN, 8),
        ],
        uploads=[2],
    ),
    "a choice that belongs to the invite": Play(
        campaigns=(WITH_MENU,),
        bound={"choice": 2},
        steps=[
            ("choose", CAMPAIGN, 0, None),
            ("join", CAMPAIGN, REFUSED),
            ("join", CAMPAIGN, REFUSED),
            ("answer", CAMPAIGN, BOTH, REFUSED),
            ("reload", None),
            ("answer", CAMPAIGN, BOTH, REFUSED),
            ("spent", CAMPAIGN, 0),
            ("choose", CAMPAIGN, 2, None),
            ("answer", CAMPAIGN, BOTH, 2),
            ("spent", CAMPAIGN, 8),
        ],
        uploads=[2],
    ),
}

PLAYS = {
    **OF_ROUNDS,
    "answers are sent once": Play(
        steps=[
            ("join", CAMPAIGN, None),
            ("join", CAMPAIGN, None),
            ("again", CAMPAIGN, [[], []]),
            ("spent", CAMPAIGN, 0),
            ("answer", CAMPAIGN, BOTH, 2),
            ("spent", CAMPAIGN, 2),
            ("answer", CAMPAIGN, ALL, REFUSED),
            ("send", CAMPAIGN, 2),
            ("reload", None),
            ("answer", CAMPAIGN, ALL, REFUSED),
            ("send", CAMPAIGN, 2),
            ("spent", CAMPAIGN, 2),
        ],
        uploads=[2],
    ),
    "an answer of the server is lost": Play(
        steps=[("answer", CAMPAIGN, BOTH, 2), ("spent", CAMPAIGN, 2)], uploads=[2], lose=2
    ),
    "answers of the server on the place are lost": Play(
        steps=[("answer", CAMPAIGN, BOTH, 2), ("spent", CAMPAIGN, 2)], uploads=[2], lose_places=2
    ),
    **{
        f"no place: {problem}": Play(
            steps=[
                ("answer", CAMPAIGN, BOTH, REFUSED),
                ("send", CAMPAIGN, REFUSED),
                ("spent", CAMPAIGN, 0),
                ("reload", None),
                ("answer", CAMPAIGN, BOTH, REFUSED),
                ("spent", CAMPAIGN, 0),
            ],
            problem=problem,
        )
        for problem in ("invite-invalid", "campaign-closed", "credential", "not-found")
    },
    "copies": Play(
        campaigns=(campaign_of(LABEL, COPIES),),
        steps=[
            ("answer", CAMPAIGN, {"t0": "yes", "t1": "no", "t2": "no", "t3": "no"}, 4),
            ("spent", CAMPAIGN, 3),
        ],
        uploads=[4],
        marked=[1],
        equal=("t0", "t1"),
    ),
    "copies, every task reported": Play(
        campaigns=(campaign_of(MECHANISMS["laplace, filled"], COPIES),),
        steps=[("answer", CAMPAIGN, {"t2": 3}, 5)],
        uploads=[5],
        marked=[1],
        equal=("t0", "t1"),
    ),
    "no answer, every task reported": Play(
        campaigns=(campaign_of(MECHANISMS["laplace, filled"]),),
        steps=[("answer", CAMPAIGN, {}, 5)],
        uploads=[5],
    ),
    "NULL for what is not answered": Play(
        campaigns=(campaign_of(MECHANISMS["one-layer with NULL"]),),
        steps=[("answer", CAMPAIGN, BOTH, 5), ("spent", CAMPAIGN, 5)],
        uploads=[5],
    ),
    "the same questions again": Play(
        campaigns=(ONE, LIKE_IT),
        steps=[
            ("answer", CAMPAIGN, BOTH, 2),
            ("reload", None),
            ("join", OTHER, None),
            ("again", OTHER, [["t0", "t1"], []]),
            ("answer", OTHER, {"t0": "no", "t1": "yes", "t2": "no"}, 3),
            ("spent", OTHER, 3),
        ],
        uploads=[2, 3],
        marked=[0, 2],
    ),
    **{
        f"the same questions {how}": Play(
            campaigns=(first, second),
            steps=[
                ("answer", CAMPAIGN, BOTH, 2),
                ("withdraw", CAMPAIGN, None),
                ("reload", None),
                ("join", OTHER, None),
                ("again", OTHER, [[], ["t0", "t1"]]),
                ("answer", OTHER, BOTH, 2),
                ("spent", OTHER, 4),
            ],
            uploads=[2, 2],
        )
        for how, first, second in (
            ("of another requester", ONE, SOMEBODY_ELSE),
            ("about a day", ONE, NEXT_DAY),
            ("about another day", ONE_DAY, NEXT_DAY),
            ("in a campaign of an older version", ONE, OLDER),
        )
    },
    "the same questions about the same day": Play(
        campaigns=(ONE_DAY, SAME_DAY),
        steps=[
            ("answer", CAMPAIGN, BOTH, 2),
            ("join", OTHER, None),
            ("again", OTHER, [["t0", "t1"], []]),
            ("answer", OTHER, BOTH, 2),
            ("spent", OTHER, 2),
        ],
        uploads=[2, 2],
        marked=[0, 2],
    ),
    "copies, in a campaign of an older version": Play(
        campaigns=(campaign_of(LABEL, COPIES, requester_id=None),),
        steps=[("answer", CAMPAIGN, {"t0": "yes", "t1": "no", "t2": "no", "t3": "no"}, 4)],
        uploads=[4],
        equal=("t0", "t1"),
    ),
    "the same questions, labels in another order": Play(
        campaigns=(ONE, REVERSED),
        steps=[
            ("answer", CAMPAIGN, ALL, 5),
            ("join", OTHER, None),
            ("again", OTHER, [sorted(ALL), []]),
            ("answer", OTHER, ALL, 5),
            ("spent", OTHER, 5),
        ],
        uploads=[5, 5],
        marked=[0, 5],
    ),
    "the same questions, labels and columns of a table in another order": Play(
        campaigns=(campaign_of(TABLE), campaign_of(TURNED, campaign=OTHER)),
        steps=[
            ("answer", CAMPAIGN, ALL, 5),
            ("join", OTHER, None),
            ("again", OTHER, [sorted(ALL), []]),
            ("answer", OTHER, ALL, 5),
        ],
        uploads=[5, 5],
        marked=[0, 5],
    ),
    "the same questions, one table for labels in another order": Play(
        campaigns=(campaign_of(TABLE), campaign_of(SAME_TABLE, campaign=OTHER)),
        steps=[
            ("answer", CAMPAIGN, ALL, 5),
            ("join", OTHER, None),
            ("again", OTHER, [[], sorted(ALL)]),
            ("answer", OTHER, ALL, 5),
        ],
        uploads=[5, 5],
    ),
    "the same questions through another channel": Play(
        campaigns=(ONE, WEAKER),
        steps=[
            ("answer", CAMPAIGN, BOTH, 2),
            ("join", OTHER, None),
            ("again", OTHER, [[], ["t0", "t1"]]),
            ("answer", OTHER, BOTH, 2),
            ("spent", OTHER, 6),
        ],
        uploads=[2, 2],
    ),
    "near-copies of earlier questions": Play(
        campaigns=(ONE, NEAR),
        steps=[
            ("answer", CAMPAIGN, ALL, 5),
            ("join", OTHER, None),
            ("again", OTHER, [[], ["t0"]]),
        ],
        uploads=[5],
    ),
    "options per task": Play(
        campaigns=(OPTIONS, SOME_OPTIONS),
        steps=[
            ("answer", CAMPAIGN, {"t0": "dog", "t1": "oak", "t2": "fir", "t3": "elm"}, 4),
            ("spent", CAMPAIGN, 3),
            ("reload", None),
            ("join", OTHER, None),
            ("again", OTHER, [["t0"], ["t2"]]),
            ("answer", OTHER, {"t0": "cat", "t1": "dog", "t2": "fir"}, 3),
            ("spent", OTHER, 5),
        ],
        uploads=[4, 3],
        marked=[1, 1],
    ),
    "options per task, after a campaign with more of them": Play(
        campaigns=(TWENTY, TWO),
        steps=[
            ("answer", CAMPAIGN, {"t0": 1, "t1": 19}, 2),
            ("join", OTHER, None),
            ("again", OTHER, [["t0"], []]),
            ("answer", OTHER, {"t0": 0}, 1),
            ("spent", OTHER, 32),
        ],
        uploads=[2, 1],
        marked=[0, 1],
    ),
    **refusing("an option of another task", {"t0": "oak"}, OPTIONS),
    **refusing("an answer that is no option", {"t1": "yes"}, OPTIONS),
    "a budget": Play(
        campaigns=(ONE, WEAKER),
        steps=[
            ("set_budget", 1.5, None),
            ("join", CAMPAIGN, None),
            ("answer", CAMPAIGN, BOTH, REFUSED),
            ("spent", CAMPAIGN, 0),
            ("answer", CAMPAIGN, {"t0": "yes"}, 1),
            ("answer", OTHER, {"t1": "yes"}, REFUSED),
            ("spent", CAMPAIGN, 1),
        ],
        uploads=[1],
    ),
    "what was sent before costs nothing": Play(
        campaigns=(ONE, LIKE_IT),
        steps=[
            ("set_budget", 2.0, None),
            ("answer", CAMPAIGN, BOTH, 2),
            ("answer", OTHER, ALL, REFUSED),
            ("answer", OTHER, BOTH, 2),
            ("spent", OTHER, 2),
        ],
        uploads=[2, 2],
        marked=[0, 2],
    ),
    "withdrawing": Play(
        campaigns=(ONE, LIKE_IT),
        steps=[
            ("withdraw", CAMPAIGN, REFUSED),
            ("answer", CAMPAIGN, BOTH, 2),
            ("withdraw", CAMPAIGN, None),
            ("spent", CAMPAIGN, 2),
            ("answer", CAMPAIGN, BOTH, REFUSED),
            ("join", CAMPAIGN, REFUSED),
            ("join", OTHER, None),
            ("again", OTHER, [["t0", "t1"], []]),
            ("answer", OTHER, BOTH, 2),
            ("spent", OTHER, 2),
        ],
        uploads=[2, 2],
        marked=[0, 2],
    ),
    "withdrawing before answering": Play(
        steps=[
            ("join", CAMPAIGN, None),
            ("withdraw", CAMPAIGN, None),
            ("answer", CAMPAIGN, BOTH, 2),
        ],
        uploads=[2],
    ),
    **refusing("an unknown task", {"t9": "yes"}),
    **refusing("an answer outside the domain", {"t0": "yes", "t1": "maybe"}),
    **refusing("no answer", {}),
    **refusing("too many answers", ALL, campaign_of(LABEL, answers=2)),
    **refusing("a number too large", {"t0": 10.1}, campaign_of(MECHANISMS["laplace"])),
    **refusing("no number", {"t0": "seven"}, campaign_of(MECHANISMS["laplace"])),
    **doubting("more than were sent", lambda said, _: said.update(accepted=3)),
    **doubting("fewer than were sent", lambda said, _: said.update(accepted=1)),
    **doubting("less than none", lambda said, _: said.update(accepted=3, duplicates=-1)),
    **doubting("a text", lambda said, _: said.update(accepted="2")),
    **doubting("no count", lambda said, _: said.pop("duplicates")),
    **doubting(
        "rejects what was not sent",
        lambda said, _: said.update(accepted=1, rejected=[{"report_id": "x", "code": "late"}]),
    ),
    **doubting(
        "rejects one",
        lambda said, items: said.update(
            accepted=1, rejected=[{"report_id": items[0]["report_id"], "code": "out-of-domain"}]
        ),
    ),
    **doubting(
        "rejects one twice",
        lambda said, items: said.update(
            accepted=0, rejected=[{"report_id": items[0]["report_id"], "code": "late"}] * 2
        ),
    ),
}
