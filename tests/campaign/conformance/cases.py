"""What both clients of a worker are given: configurations, tasks, answers, and what happens when.

They are data: documents as a server sends them, and steps as a worker takes them.
"""

import copy
import hashlib
import json

from attrs import evolve, frozen
from tests.campaign.mechanisms import LABELS, MECHANISMS, RANGE
from tests.campaign.promises import PROMISES
from tests.campaign.terms.test_rounds import rounds

import quietcrowd as qc
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.configuration import (
    agreed_sentences,
    build_configuration,
    earlier_members,
)
from quietcrowd.campaign.terms.menu import Menu
from quietcrowd.campaign.terms.promises import Promises
from quietcrowd.mechanisms import Mechanism, TwoLayerRandomizedResponse
from quietcrowd.mechanisms.randomized_response import RandomizedAmong

CAMPAIGN = 32 * "5"
RIDGE = "matrix factorisation, ridge"
ASKED = [{"question": f"Is there a bird on picture {name}?"} for name in ("a", "b", "c", "d", "e")]

OF_ALL_KINDS = {
    **{name: mechanism for name, mechanism in MECHANISMS.items() if name != RIDGE},
    "true or false": qc.RandomizedResponse(domain=qc.Categorical([False, True]), epsilon=0.5),
    "levels": qc.RandomizedResponse(domain=qc.Ordinal([0, 1, 2.5, 7]), epsilon=3.0),
    "many labels": qc.RandomizedResponse(
        domain=qc.Categorical([f"label {place}" for place in range(40)]), epsilon=2.0
    ),
    "no privacy loss": qc.RandomizedResponse(domain=LABELS, epsilon=0.0),
    "weight per worker": TwoLayerRandomizedResponse(
        domain=LABELS, epsilon=1.0, distribution="epsilon"
    ),
    "two-layer with NULL": TwoLayerRandomizedResponse(
        domain=LABELS, epsilon=1.0, distribution="epsilon", missing="category"
    ),
    "steps": qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, fill="midpoint", step=0.5),
}
"""Mechanisms that a page can draw."""


@frozen(kw_only=True)
class Campaign:
    """What a server says of a campaign.

    Attributes
    ----------
    id : str
        16 bytes in hex.
    text : str
        Its configuration, as it is sent.
    tasks : list of dict
        As they are sent.
    """

    id: str
    text: str
    tasks: list

    @property
    def hash(self):
        """The SHA-256 of the text, in hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def config(self):
        """The configuration."""
        return json.loads(self.text)

    @property
    def asked(self):
        """The tasks that are asked: the first ones, where some are handed out."""
        hands_out = "allotment" in self.config
        return self.tasks[: self.config["answers_per_participant"] if hands_out else None]

    @property
    def listed(self):
        """The document with all tasks, as a text."""
        document = {"config_hash": self.hash, "tasks": self.tasks}
        if "allotment" in self.config:
            document["allotted"] = [task["task_id"] for task in self.asked]
        return json.dumps(document)

    def saying(self, config):
        """Return a campaign whose server says another configuration, with the hash of that."""
        return evolve(self, text=canonical_json(config).decode())


def campaign_of(mechanism, shown=None, *, campaign=CAMPAIGN, promises=PROMISES, **given):
    """Return a campaign as an honest server opens it; ids of tasks are told by their names."""
    shown = ASKED if shown is None else shown
    named = [(f"t{place}", data) for place, data in enumerate(shown)]
    listed = sorted((hashlib.md5(name.encode()).hexdigest(), name, data) for name, data in named)
    named = {"requester_id": None if promises is None else 32 * "a"}
    said = {"title": "Birds", "description": "On 5 pictures.\nLook twice.", **named, **given}
    built = build_configuration(
        campaign=campaign,
        mechanism=mechanism,
        answers=said.pop("answers", None),
        linked=said.pop("linked", None),
        allotment=said.pop("allotment", None),
        tasks=listed,
        promises=None if promises is None else Promises(**{**PROMISES, **promises}),
        **said,
    )
    tasks = [{"task_id": id_, "task": name, "data": data} for id_, name, data in listed]
    return Campaign(id=campaign, text=built.text.decode(), tasks=tasks)


LABEL = MECHANISMS["one-layer"]
AMONG_OPTIONS = RandomizedAmong(
    domain=qc.Categorical(["cat", "dog", "oak", "elm", "fir"]), epsilon=1.0, counts=[2, 3]
)
NUMBERED = RandomizedAmong(domain=qc.Categorical(range(20)), epsilon=3.0, counts=[2, 4, 20])
TREES = ["oak", "elm", "fir"]
WITH_OPTIONS = [
    {"q": "A cat or a dog?", "options": ["cat", "dog"]},
    {"q": "Which tree?", "options": TREES},
    {"q": "Which tree?", "options": TREES[::-1]},
    {"q": "Which tree?", "options": TREES},
    {"options": ["dog", "elm"]},
]
NUMBERS = [
    {"q": f"How many {what}?", "options": list(range(n))}
    for what, n in zip("abc", (2, 4, 20), strict=True)
]
COPIES = [{"q": "Is it red?"}, {"q": "Is it red?"}, {"q": "Is it tall?"}, {}, {}]
NEAR_COPIES = [{"q": "Is it red?"}, {"q": "is it  RED"}, {"q": "3. Is it red?"}]

ROUNDS = rounds(cap=12, count=None, step=4, keep=5)
MENU = Menu(
    mechanisms=tuple(evolve(LABEL, epsilon=epsilon) for epsilon in (0.5, 1.0, 4.0)),
    shares=(0.5, 0.2, 0.3),
    expected={"error": 0.2375, "guess": 0.5},
)
NUMBER_MENU = Menu(
    mechanisms=(MECHANISMS["laplace"], evolve(MECHANISMS["piecewise"], epsilon=4.0)),
    shares=(0.5, 0.5),
)

VALID = {
    "a menu": campaign_of(MENU, drafts=True, promises={"at_least": 5}),
    "a menu of numbers, some handed out": campaign_of(
        NUMBER_MENU, drafts=False, answers=2, allotment="random"
    ),
    "a menu in rounds": campaign_of(MENU, drafts=True, rounds=ROUNDS),
    "rounds": campaign_of(LABEL, drafts=True, rounds=ROUNDS, promises={"at_least": 5}),
    "rounds by budget": campaign_of(
        MECHANISMS["two-layer"],
        drafts=True,
        answers=3,
        allotment="random",
        rounds=rounds(
            division="budget", keep=1, length=5_400, grace=61, first="2027-01-31T23:59:00Z"
        ),
    ),
    "rounds about lasting facts": campaign_of(
        MECHANISMS["piecewise"],
        drafts=False,
        rounds=rounds(
            facts="lasting", window=1, step=1, cap=1_500, count=1_500, length=3_600, grace=3_600
        ),
    ),
    **{name: campaign_of(mechanism) for name, mechanism in OF_ALL_KINDS.items()},
    "of the first version": campaign_of(LABEL, promises=None),
    "of the second version": campaign_of(LABEL, requester_id=None),
    "of the third version": campaign_of(LABEL, answers=2, allotment="random", requester_id=None),
    "of the fifth version": campaign_of(LABEL, drafts=True),
    "of the fifth version, for a day, handed out, without drafts": campaign_of(
        LABEL, as_of="2026-12-01", answers=2, allotment="random", drafts=False
    ),
    "about a day": campaign_of(LABEL, as_of="2026-12-01"),
    "about a day, some of five tasks handed out": campaign_of(
        LABEL, answers=2, allotment="random", as_of="2024-02-29"
    ),
    "shown five together": campaign_of(LABEL, promises={"at_least": 5, "retention_days": 1}),
    "two of five answers": campaign_of(LABEL, answers=2),
    "linked": campaign_of(LABEL, linked=3),
    "linked, two-layer": campaign_of(MECHANISMS["two-layer"], linked=2),
    "copies": campaign_of(LABEL, COPIES),
    "copies, noise that answers share": campaign_of(MECHANISMS["two-layer"], COPIES),
    "near-copies": campaign_of(LABEL, NEAR_COPIES),
    "one task": campaign_of(LABEL, ASKED[:1]),
    **{
        f"{each} of five tasks handed out": campaign_of(LABEL, answers=each, allotment="random")
        for each in (1, 2, 5)
    },
    "handed out by results": campaign_of(LABEL, answers=2, allotment="suggested"),
    "handed out, two-layer": campaign_of(
        MECHANISMS["two-layer"], answers=3, linked=2, allotment="random"
    ),
    "handed out, shown five together": campaign_of(
        MECHANISMS["laplace"], answers=2, allotment="random", promises={"at_least": 5}
    ),
    "handed out, copies": campaign_of(
        MECHANISMS["two-layer"], COPIES, answers=2, allotment="random"
    ),
    "texts in any script": campaign_of(
        LABEL,
        [{"q": "Grüße, 世界 😀", "deep": {"a": [1, 2.5e-7, None, "\u2028"]}}],
        title="Ω\u202e!",
    ),
    "options per task": campaign_of(AMONG_OPTIONS, WITH_OPTIONS, drafts=True),
    "options per task, numbers, two handed out": campaign_of(
        NUMBERED, NUMBERS, answers=2, allotment="random"
    ),
    "options per task, no privacy loss, about a day": campaign_of(
        evolve(AMONG_OPTIONS, epsilon=0.0), WITH_OPTIONS[:2], as_of="2026-12-01"
    ),
    "many tasks": campaign_of(
        LABEL, [{"q": f"word{chr(97 + n % 26) * (n + 1)}"} for n in range(60)]
    ),
}
"""What both clients take part in."""


def changed(path, value):
    """Return what sets a member of a configuration; path: its keys and places."""

    def change(config):
        *way, last = path
        for key in way:
            config = config[key]
        config[last] = value(config[last]) if callable(value) else value

    return change


def without(key):
    """Return what takes a member out of a configuration."""
    return lambda config: config.pop(key)


_GUARANTEED = {"answer_epsilon": "epsilon", "worker_epsilon": "total_epsilon"}
"""Names of a configuration's losses in `PrivacyGuarantee`, if they differ."""


def claiming(loss, *figures):
    """Return what lets a configuration claim another loss, in its sentences as well."""

    def change(config):
        config["guarantee"].update(dict.fromkeys(figures, loss))
        mechanism = Mechanism.from_dict(config["mechanism"])
        answers, tasks = config["answers_per_participant"], config["tasks"]
        honest = mechanism.guarantee(answers=answers, tasks=tasks)
        said = {_GUARANTEED.get(name, name): loss for name in figures}
        config["consent"] = agreed_sentences(evolve(honest, **said), Promises.of(config))

    return change


def saying_day(day):
    """Return what lets a configuration say another day, in its sentences as well."""

    def change(config):
        said = config["as_of"]
        config["consent"] = [one.replace(said, str(day)) for one in config["consent"]]
        config["as_of"] = day

    return change


MEMBERS = sorted(VALID["one-layer"].config)
PRIVACY = ("answer_epsilon", "linked_epsilon", "worker_epsilon", "delta")

TAMPERED = {
    **{
        f"a menu: {name}": ("a menu in rounds", change)
        for name, change in {
            "no entry": changed(["menu", "entries"], []),
            "one entry": changed(["menu", "entries"], lambda entries: entries[:1]),
            "one twice": changed(["menu", "entries"], lambda entries: [entries[0], *entries[:2]]),
            "another order": changed(["menu", "entries"], lambda entries: entries[::-1]),
            "another loss": changed(["menu", "entries", 2, "guarantee", "worker_epsilon"], 0.5),
            "other words": changed(["menu", "entries", 1, "consent", 0], "Nothing is revealed."),
            "an entry with a member more": changed(["menu", "entries", 1, "tasks"], 5),
            "an entry without losses": lambda config: config["menu"]["entries"][0].pop("losses"),
            "other shares": changed(["menu", "shares", 0], 0.6),
            "a share of none": changed(["menu", "shares"], [0, 0.7, 0.3]),
            "shares in words": changed(["menu", "shares"], "half"),
            "an error in words": changed(["menu", "expected", "error"], "small"),
            "an error less": lambda config: config["menu"]["expected"].pop("guess"),
            "a member more": changed(["menu", "preselected"], 2),
            "null": changed(["menu"], None),
            "a mechanism next to it": changed(["mechanism"], LABEL.to_dict()),
            "without rounds": without("rounds"),
        }.items()
    },
    **{
        f"rounds: {name}": ("rounds", change)
        for name, change in {
            **{
                f"{member} is {value}": changed(["rounds", member], value)
                for member, value in (
                    *(("first", "2026-12-02T00:00:00Z"), ("first", "2026-12-01"), ("first", None)),
                    *(("length", 3_600), ("length", 59), ("count", 12), ("count", 11)),
                    *(("cap", 13), ("cap", 3), ("cap", 0), ("grace", 90_000), ("window", 5)),
                    *(("window", 2), ("step", 3), ("step", 13), ("division", "budget")),
                    *(
                        ("division", None),
                        ("facts", "lasting"),
                        ("facts", "old"),
                        ("keep", 0),
                        ("keep", 33),
                    ),
                )
            },
            "a member more": changed(["rounds", "tasks"], 5),
            "a member less": lambda config: config["rounds"].pop("keep"),
            "null": changed(["rounds"], None),
            "no losses": without("losses"),
            **{
                f"another loss of a {name}": changed(["losses", name], lambda loss: loss / 2)
                for name in ("round", "window", "campaign", "fact")
            },
            "a loss more": changed(["losses", "day"], 1.0),
            "about a day": changed(["as_of"], "2026-12-01"),
            "of the fifth version": changed(["version"], 5),
            "losses alone": without("rounds"),
            "other words": changed(["consent", 3], "There is one round."),
            "another line": changed(["summary", 3], "50 % sure from any 3 rounds"),
        }.items()
    },
    "the sixth version without a menu or rounds": ("of the fifth version", changed(["version"], 6)),
    **{f"without {name}": ("one-layer", without(name)) for name in MEMBERS},
    **{f"{name} is null": ("one-layer", changed([name], None)) for name in MEMBERS},
    "a member more": ("one-layer", lambda config: config.update(more=1)),
    "another version": ("one-layer", changed(["version"], 3)),
    "a newer version": ("one-layer", changed(["version"], 6)),
    "of the newest version, without a word on drafts": ("one-layer", changed(["version"], 5)),
    **{
        f"drafts are {drafts}": ("of the fifth version", changed(["drafts"], drafts))
        for drafts in (None, 1, "yes")
    },
    "another line of the summary": ("of the fifth version", changed(["summary", 1], "50 % sure")),
    "no summary": ("of the fifth version", without("summary")),
    "a summary in another version": ("one-layer", lambda config: config.update(summary=[])),
    "drafts in another version": ("one-layer", lambda config: config.update(drafts=True)),
    "a requester without an id": ("one-layer", changed(["requester_id"], "a")),
    "another requester, in another version": (
        "of the second version",
        lambda config: config.update(requester_id=32 * "b"),
    ),
    "a day without a word": ("one-layer", lambda config: config.update(as_of="2026-12-01")),
    "a day in another version": (
        "of the second version",
        lambda config: config.update(as_of="2026-12-01"),
    ),
    **{
        f"as of {day}": ("about a day", saying_day(day))
        for day in ("2026-02-30", "2025-02-29", "2026-13-01", "0999-01-01", "20261201", "", 5, None)
    },
    "the first version, with promises": ("one-layer", changed(["version"], 1)),
    "another campaign": ("one-layer", changed(["campaign"], 32 * "6")),
    "tasks as a text": ("one-layer", changed(["tasks"], "5")),
    "no task": ("one-layer", changed(["tasks"], 0)),
    "more answers than tasks": ("one-layer", changed(["answers_per_participant"], 6)),
    "half an answer": ("one-layer", changed(["answers_per_participant"], 1.5)),
    "linked to nothing": ("one-layer", changed(["linked"], 0)),
    "more linked than answered": ("one-layer", changed(["linked"], 6)),
    "no requester": ("one-layer", changed(["requester"], " ")),
    "kept for ever": ("one-layer", changed(["retention_days"], 10**6)),
    "shown by none": ("one-layer", changed(["at_least"], 0)),
    "another weight": ("one-layer", changed(["channel", "weights", 0, 0], lambda one: one - 1)),
    "answers as they are": ("one-layer", changed(["channel", "weights"], [[2**32, 0], [0, 2**32]])),
    "a report more": ("one-layer", changed(["report", "value", 1], 2)),
    "every task": ("one-layer", changed(["report", "every_task"], True)),
    "reports of another kind": ("one-layer", changed(["report", "kind"], "sketch")),
    "sentences of another": ("one-layer", changed(["consent", 0], "It costs nothing.")),
    "a sentence less": ("one-layer", changed(["consent"], lambda said: said[:-1])),
    "assumes more": ("one-layer", changed(["guarantee", "assumptions"], [])),
    "participation is protected": (
        "one-layer",
        changed(["guarantee", "participation_protected"], True),
    ),
    **{
        f"{kind}, {name} is {what}": (kind, changed(["guarantee", name], value))
        for kind in ("one-layer", "two-layer", "matrix factorisation")
        for name in PRIVACY
        for what, value in (("less", lambda loss: (loss or 9) / 2), ("more", lambda loss: loss + 1))
        if not (kind == "matrix factorisation" and name == "worker_epsilon" and what == "less")
    },
    "less noise": ("laplace", changed(["channel", "noise_scale"], lambda scale: scale / 2)),
    "a finer grid": ("laplace", changed(["channel", "grid", "step"], lambda step: step / 2)),
    "a wider report": ("laplace", changed(["report", "value", 1], lambda most: most + 1)),
    "a label more": (
        "one-layer",
        changed(["mechanism", "domain", "labels"], ["no", "yes", "both"]),
    ),
    "a channel of another kind": ("one-layer", changed(["channel", "kind"], "sets")),
    "a channel of no kind": ("one-layer", changed(["channel", "kind"], None)),
    "a channel with a member more": (
        "sets of labels",
        lambda config: config["channel"].update(x=1),
    ),
    "a weight that each worker draws": (
        "one-layer",
        lambda config: config["channel"].update(per_worker={"kind": "epsilon", "epsilon": 1.0}),
    ),
    "an accurate bit": (
        "laplace with a bit",
        changed(["channel", "participation", "noise_scale"], lambda scale: scale / 4),
    ),
    "another table of all devices": ("two-layer", changed(["channel", "weights", 0, 0], 2**31)),
    **{
        f"a sketch that loses {loss:g} {about}": ("matrix factorisation", claiming(loss, *figures))
        for loss in (0.0, 0.01)
        for about, figures in (
            ("about all", ("worker_epsilon", "linked_epsilon")),
            ("at all", ("answer_epsilon", "worker_epsilon", "linked_epsilon")),
        )
    },
    **{
        f"handed out, {what}": ("2 of five tasks handed out", change)
        for what, change in {
            "in no way": without("allotment"),
            "in another way": changed(["allotment"], "chosen"),
            "in another way than is said": changed(["allotment"], "suggested"),
            "null": changed(["allotment"], None),
            "of an older version": changed(["version"], 3),
            "of a newer version": changed(["version"], 6),
            "to more than one list": changed(["allotment"], ["random"]),
            "more each": changed(["answers_per_participant"], 3),
            "less said": lambda config: config["consent"].pop(-4),
            "without a promise": without("at_least"),
        }.items()
    },
    **{
        f"options per task, {what}": ("options per task", change)
        for what, change in {
            "no table": changed(["channel", "tables"], []),
            "a table less": changed(["channel", "tables"], lambda tables: tables[:1]),
            "tables in another order": changed(["channel", "tables"], lambda tables: tables[::-1]),
            "a table twice": changed(["channel", "tables"], lambda tables: [*tables, tables[1]]),
            "a table with a column less": changed(["channel", "tables", 0], [[2**32], [2**32]]),
            "a table of one option": changed(["channel", "tables", 0], [[2**32]]),
            "a table of more options than labels": changed(
                ["channel", "tables", 1], [[2**32, 0, 0, 0, 0, 0]] * 6
            ),
            "a table that is an object": changed(["channel", "tables", 0], {"length": 2}),
            "tables that are an object": changed(["channel", "tables"], {}),
            "another weight": changed(["channel", "tables", 1, 0, 0], lambda one: one - 1),
            "answers as they are": changed(["channel", "tables", 0], [[2**32, 0], [0, 2**32]]),
            "a loss above the stated one": changed(
                ["channel", "tables", 0], [[2**32 - 1, 1], [1, 2**32 - 1]]
            ),
            "a member more": lambda config: config["channel"].update(numbered=True),
            "weights in the place of tables": lambda config: config["channel"].update(
                weights=config["channel"].pop("tables")
            ),
            "reports of all labels": changed(["report", "value", 1], 4),
            "numbers as answers": changed(
                ["mechanism", "domain"], {"kind": "interval", "low": 0, "high": 9}
            ),
            "too few labels": changed(
                ["mechanism", "domain"], {"kind": "categorical", "labels": ["cat", "dog"]}
            ),
            "less noise is said": changed(["guarantee", "answer_epsilon"], 0.1),
        }.items()
    },
    "handed out, and every task reported": (
        "laplace, filled",
        lambda config: config.update(allotment="random"),
    ),
    "handed out without a word": (
        "one-layer",
        lambda config: config.update(allotment="random"),
    ),
}
"""What no client takes part in: the configuration that it is made of, and what is changed in it."""

RENAMED = {
    "options per task, another number of options": (
        "options per task",
        changed(["mechanism", "option_counts"], [2, 4]),
    ),
    "options per task, a table that is not the mechanism's": (
        "options per task",
        changed(["channel", "tables", 0], [[5 * 2**29, 3 * 2**29], [3 * 2**29, 5 * 2**29]]),
    ),
    "another table": ("one-layer", changed(["mechanism", "other_weight"], lambda one: one + 1)),
    "another epsilon of the mechanism": ("one-layer", changed(["mechanism", "epsilon"], 2.0)),
    "another mechanism": ("one-layer", changed(["mechanism", "mechanism"], "none")),
    "another version of it": ("one-layer", changed(["mechanism", "version"], 2)),
    "no NULL": ("one-layer with NULL", changed(["mechanism", "null"], None)),
    "another seed": ("matrix factorisation", changed(["channel", "profile", "seed"], 77)),
    "numbered reports": ("one-layer", lambda config: config["channel"].update(numbered=True)),
}
"""Sound channels that are not those of the mechanism: a client that knows it refuses them."""


def with_earlier_members(name):
    """Return a campaign that was opened before channels had the kinds of today."""
    campaign = VALID[name]
    return campaign.saying({**campaign.config, **earlier_members(campaign.config)})


def tampered(name):
    """Return the campaign of a dishonest server: its hash is right, and what it says is not."""
    kind, change = {**TAMPERED, **RENAMED}[name]
    campaign = VALID[kind]
    config = copy.deepcopy(campaign.config)
    change(config)
    return campaign.saying(config)
