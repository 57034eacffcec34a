"""Vectors of what a page tells of a configuration: losses, sentences, distributions, questions.

``write_vectors.py`` writes them.
"""

import hashlib
import json
import math

from tests.campaign.mechanisms import LABELS, LEVELS, MECHANISMS, RANGE
from tests.campaign.promises import PROMISES

import quietcrowd as qc
from quietcrowd.accounting.consent import consent_sentences, short_consent, show_most_sure
from quietcrowd.campaign.device.checked_terms import Terms, read_tasks
from quietcrowd.campaign.device.noise_text import noise_sentences, noise_table, show_share
from quietcrowd.campaign.device.questions import TaskQuestions, channel_hash
from quietcrowd.campaign.terms.channels import report_rule
from quietcrowd.campaign.terms.configuration import build_configuration, campaign_guarantee
from quietcrowd.campaign.terms.near_copies import largest_group, letters_hashes
from quietcrowd.campaign.terms.promises import Promises
from quietcrowd.mechanisms import (
    DuchiMechanism,
    HybridMechanism,
    MatrixFactorization,
    Mechanism,
    OptimalMechanism,
    TwoLayerRandomizedResponse,
)
from quietcrowd.privacy.guarantee import PrivacyGuarantee

# What an input gives, by kind. ``run_vectors.js`` has the same functions.


def losses(one):
    """Return what is lost."""
    mechanism = Mechanism.from_dict(one["mechanism"])
    counts = (one["answers_per_participant"], one["linked"], one["tasks"])
    guarantee = campaign_guarantee(mechanism, *counts, None)
    losses = (guarantee.epsilon, guarantee.linked_epsilon, guarantee.total_epsilon)
    return [*losses, guarantee.delta]


def consent(one):
    """Return what a worker agrees to by figures alone."""
    said = one["guarantee"]
    guarantee = PrivacyGuarantee(
        answers=said["answers"],
        tasks=said["tasks"],
        linked=said["linked"],
        participation_protected=said["participationProtected"],
        epsilon=float(said["epsilon"]),
        linked_epsilon=float(said["linkedEpsilon"]),
        total_epsilon=float(said["workerEpsilon"]),
        claimed_epsilon=0.0,
        assumptions=(),
        source="",
    )
    full = consent_sentences(guarantee)
    elsewhere = "Answers elsewhere add up."
    return [
        [*short_consent(guarantee, together=together), elsewhere, *full]
        for together in (False, True)
    ]


def terms(one):
    """Return what is told of a configuration and its tasks, beside what stands in it."""
    config = json.loads(one["text"])
    hashed = hashlib.sha256(one["text"].encode()).hexdigest()
    public = {"config": config, "config_hash": hashed}
    read = Terms.read(public, config["campaign"])
    tasks = read_tasks({"config_hash": hashed, "tasks": one["tasks"]}, read)
    asked = TaskQuestions(tasks=tasks, mechanism=read.mechanism, as_of=read.as_of)
    return {
        "law": list(noise_sentences(read.mechanism, read.tasks)),
        "table": [list(row) for row in noise_table(read.mechanism)],
        "questions": dict(asked.hashes),
        "first": {task.name: asked.first_of(task.name) for task in tasks},
        "channel": channel_hash(read.mechanism),
    }


def percent(one):
    """Return shares and figures of consent as they are printed."""
    sure = [show_most_sure(loss) for loss in one["losses"]]
    return [*sure, *map(show_share, one["shares"]), *(f"{n:.3g}" for n in one["numbers"])]


def letters(one):
    """Return how large a group of near-copies is, and their keys."""
    shown = [(name, data) for name, data in one["tasks"]]
    largest = [largest_group(shown, MECHANISMS[name]) for name in ("one-layer", "two-layer")]
    return [*largest, *(list(letters_hashes(*task)) for task in shown)]


# Inputs.


IN_A_PAGE = [name for name in MECHANISMS if not name.endswith("ridge")]
"""Mechanisms whose reports a page can draw."""

SHOWN = (
    {"ask": "Is it a bird?", "n": 1},
    {"ask": "Is it a bird?", "n": 1},
    {"ask": "is it a BIRD", "n": 2},
    {"ask": "Straße?", "image": {"image": 64 * "a", "alt": "a street"}},
    {},
)


def more_mechanisms():
    """Yield mechanisms with other parameters than those of all tests."""
    many, two = qc.Categorical([f"l{i}" for i in range(8)]), qc.Categorical([True, False])
    names = qc.Ordinal([0.5, 1, 2**53 - 1])
    odd = qc.Categorical(["it's", 'a "b"', "\\", 30 * "long", " a\tb\u202e"])
    yield qc.RandomizedResponse(domain=many, flip_probability=0.9, missing="category")
    yield qc.RandomizedResponse(domain=two, flip_probability=0.5)
    yield qc.RandomizedResponse(domain=odd, epsilon=0.0)
    yield qc.RandomizedResponse(domain=qc.Categorical(['"', "'"]), epsilon=12.5)
    yield qc.RandomizedResponse(domain=names, epsilon=0.3)
    yield OptimalMechanism(domain=many, epsilon=0.5)
    yield OptimalMechanism(domain=two, epsilon=16.0, prior={"True": 0.1})
    yield OptimalMechanism(domain=LEVELS, epsilon=2.0, information="fisher")
    yield OptimalMechanism(domain=odd, epsilon=0.0)
    yield TwoLayerRandomizedResponse(domain=LABELS, epsilon=1.0, distribution="epsilon")
    yield TwoLayerRandomizedResponse(
        domain=two, epsilon=0.5, distribution="epsilon", missing="category"
    )
    yield TwoLayerRandomizedResponse(domain=many, low=0.2, high=0.6)
    for distribution in (
        {"low": 0.1, "high": 0.4, "alpha": 3, "beta": 2},
        {"low": 0, "high": 0.9, "alpha": 1, "beta": 1},
    ):
        yield TwoLayerRandomizedResponse(domain=LABELS, distribution="beta", **distribution)
    for labels, epsilon, size in ((many, 0.0, None), (odd, 2.3, 3), (names, 12.5, None)):
        yield qc.SubsetSelection(domain=labels, epsilon=epsilon, set_size=size)
    yield qc.SubsetSelection(domain=qc.Ordinal(range(64)), epsilon=0.35)
    yield qc.LaplaceMechanism(domain=LEVELS, epsilon=0.1, fill=3.3, scale="paper")
    yield qc.LaplaceMechanism(domain=qc.Interval(low=-3.3, high=1e-5), epsilon=7.0, step=2**-10)
    wide = qc.Interval(low=-3.3, high=1e5)
    yield qc.PiecewiseMechanism(domain=wide, epsilon=0.01)
    yield DuchiMechanism(domain=wide, epsilon=16.0)
    yield HybridMechanism(domain=LEVELS, epsilon=12.0, step=2**-12)
    yield HybridMechanism(domain=qc.Interval(low=1e-200, high=2e-200), epsilon=0.609352)
    moments = {"rank": 4, "variant": "statistics", "fill": 1.0, "seed": 10**18}
    yield MatrixFactorization(domain=RANGE, epsilon=0.7, profile="rademacher", **moments)
    yield MatrixFactorization(domain=LEVELS, epsilon=2.0, profile="buckets", fill=2.5, step=0.5)


def loss_inputs():
    """Return many counts of answers, linked ones and tasks for each mechanism."""
    some = [(1, 1, 1), (10, 3, 20)]
    counted = [(MECHANISMS[name], some) for name in IN_A_PAGE]
    counted += [(one, some[1:]) for one in more_mechanisms()]
    return [
        {
            "mechanism": mechanism.to_dict(),
            "channel": mechanism.channel.describe(),
            "report": report_rule(mechanism, tasks).to_dict(),
            "answers_per_participant": answers,
            "linked": linked,
            "tasks": tasks,
        }
        for mechanism, counts in counted
        for answers, linked, tasks in counts
    ]


NAMED = {"requester_id": 32 * "a", "as_of": "2026-12-01", "drafts": True}
"""Members of a configuration of the newest version."""


def configured(mechanism, shown, *, answers=None, linked=None, promises=None, **said):
    """Return a configuration, as received, and its tasks."""
    named = sorted(
        (hashlib.md5(b"%d" % i).hexdigest(), f"t{i}", one) for i, one in enumerate(shown)
    )
    promised = None if promises is None else Promises(**{**PROMISES, **promises})
    built = build_configuration(
        campaign=32 * "5",
        title="Vögel",
        description='Birds "here".',
        mechanism=mechanism,
        answers=answers,
        linked=linked,
        tasks=named,
        promises=promised,
        **said,
    )
    names = ("task_id", "task", "data")
    tasks = [dict(zip(names, task, strict=True)) for task in named]
    return {"text": built.text.decode(), "tasks": tasks}


def terms_inputs():
    listed = [MECHANISMS[name] for name in IN_A_PAGE]
    batches = {"at_least": 1000, "retention_days": 1}
    return [
        *(configured(one, SHOWN, promises={}) for one in listed),
        *(configured(one, SHOWN, promises={}, **NAMED) for one in listed[::4]),
        *(configured(one, SHOWN[:2], answers=1) for one in listed),
        *(configured(one, SHOWN[:4], answers=4, linked=4, promises=batches) for one in listed[1:3]),
        *(configured(one, SHOWN[4:]) for one in more_mechanisms()),
    ]


def guarantees():
    """Yield figures that few campaigns have: much or nothing is lost, or many answers are given."""
    base = {"answers": 1, "epsilon": 0.5, "total_epsilon": 0.5, "participation_protected": False}
    base |= {"claimed_epsilon": 1.0, "assumptions": (), "source": ""}
    yield PrivacyGuarantee(**base)
    for loss in (0.0, 1e-300, 0.1, 1.0, math.log(9), 6.906, 6.91, 1000.5, math.inf):
        yield PrivacyGuarantee(**base | {"answers": 12_345, "epsilon": loss, "total_epsilon": loss})
    more = {"answers": 2, "linked": 1_000, "linked_epsilon": 3.0, "tasks": 2_000}
    yield PrivacyGuarantee(**base | more | {"participation_protected": True})


def consent_inputs():
    return [
        {
            "guarantee": {
                "answers": one.answers,
                "tasks": one.tasks,
                "linked": one.linked,
                "participationProtected": one.participation_protected,
                **spelled_losses(one),
            },
        }
        for one in guarantees()
    ]


def spelled_losses(bound):
    """Return losses as JSON has them: an infinite one is a text."""
    losses = (bound.epsilon, bound.linked_epsilon, bound.total_epsilon)
    spelled = [loss if math.isfinite(loss) else "Infinity" for loss in losses]
    return dict(zip(("epsilon", "linkedEpsilon", "workerEpsilon"), spelled, strict=True))


def percent_inputs():
    near = [0.0, 1e-12, 0.1, 0.4054651081081644, 1.0, 2.1972245773362196, 6.0, 6.9, 6.9067]
    numbers = [0.0, 0.5, 1.125, 2.675, 99.95, 999.5, 1e3, 12345.0, 1e-4, 1.234e-5, 0.0625, 1e22]
    shares = [0.0, 1e-9, 0.0005, 0.0625, 0.0635, 0.1875, 0.5, 0.9994, 0.9995, 1.0]
    return [{"losses": near, "shares": shares, "numbers": numbers}]


LETTERS = [
    *(
        "Do you?",
        "3. Do you?",
        "(3) do you",
        "Question 3: Do you?",
        "Do you? (3)",
        "Do you 3 times?",
    ),
    *(
        "DO YOU",
        "\uff44\uff4f you",
        "Straße",
        "STRASSE",
        "ΣΑΣ",
        "σας",
        "İ",
        "\u0131I",
        "ŉ ǰ",
        "ﬁ",
        "\u1e9e",
    ),
    *("17", "a8f3", "row-17", "17.jpg", "٣. نعم", "நா", "é", "e\u0301", "①. x", "a\u3164b", "?!"),
    *("a_1 b", "_1", "\x1c3.\x1cx", "x.\u00a03", "ß", "ẞ", "日本語 3?", "½ a", "Ⅷ. b", "😀", ""),
    *("d\u043e you", "lO 0O", "Is it", "ls it", "b\u00f8r\u01c3", "modern", "\u05e9\u05dc\u05d9"),
]

NAMES = [
    *("1-11", "11_1", "11 1", "t 1", "t1", "a-17--b", "drugs-17", "drugs-17-", "drugs-17\u200b"),
    *("take-drugs-in-2024-", "0f-e1_2", "abcdefgh1", "abcdefghi1", "\u00bd1", "a b c d e f g"),
    *("petal_length", "petal_lengths", "e\u200b\u0301", "\u00ad\u2060?", "?\ufe0f\u2800\U000e0041"),
    *("\x1c?\x1d\x85!\u3000.", "\ufeff1", "٣-٤", "நி நா", "\u180e"),
]
KEYS = [
    *({"Did you?" + i * "\u200b": "", "No": i} for i in range(3)),
    *({"q": {"Did you?" + i * "\u200b": i}} for i in range(3)),
    {"q": [1, {"a": [{"Did you?": None}]}]},
    {"Did you?": 1},
    {"n": 1, "2": "a-1", "10": True},
    {"10": True, "N\u200b": 1, "2": "A-1"},
    {"b ": [1.5, {"z": "?", "y": " - "}], "B": None},
]


def letters_inputs():
    one = [(text, {"ask": text}) for text in LETTERS]
    nested = {"b": ["x", {"z": "Y", "a": "w"}], "a": 3, "c": None, "d": "Two"}
    return [
        {"tasks": one},
        {"tasks": [(text, {"ask": text}) for text in ("IS it", "ls it", "is it", "do")]},
        {"tasks": [*one[:5], ("n", nested), ("m", {"d": "two", "b": "x W y"}), ("e", {})]},
        {"tasks": [(f"t{i}", {"ask": "Drugs?", "n": i % 3}) for i in range(6)]},
        {"tasks": [(text, {}) for text in (*LETTERS, *NAMES)]},
        {"tasks": [(f"t{i}", {text: i, "n": ""}) for i, text in enumerate((*LETTERS, *NAMES))]},
        {"tasks": [(f"t{i}", data) for i, data in enumerate(KEYS)]},
        {"tasks": [("😀", {"😀": "b", "\uffee": "a"}), ("x", {"q": ["b", "a"], "r": "\uffee"})]},
    ]


TERMS_GIVES = {
    "consent": consent,
    "letters": letters,
    "losses": losses,
    "percent": percent,
    "terms": terms,
}

TERMS_INPUTS = {
    "consent": consent_inputs,
    "letters": letters_inputs,
    "losses": loss_inputs,
    "percent": percent_inputs,
    "terms": terms_inputs,
}
