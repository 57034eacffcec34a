"""Test vectors that bind the page's modules to Python: what words are read, and what they become.

``vectors/`` holds one file per kind: a list of inputs, each with what it gives. After a change that
is meant, write them anew: ``python -m tests.campaign.web.write_vectors``.
"""

from __future__ import annotations

import hashlib
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
from tests.campaign.web.loss_vectors import LOSS_GIVES, LOSS_INPUTS
from tests.campaign.web.terms_vectors import TERMS_GIVES, TERMS_INPUTS

import quietcrowd as qc
from quietcrowd.campaign.device.draw import coded_reports
from quietcrowd.campaign.terms.canonical import canonical_hash, canonical_json
from quietcrowd.campaign.terms.channels import report_rule
from quietcrowd.mechanisms import (
    DuchiMechanism,
    HybridMechanism,
    MatrixFactorization,
    Mechanism,
    OptimalMechanism,
    TwoLayerRandomizedResponse,
)
from quietcrowd.mechanisms.channels.coins import decaying, logistic
from quietcrowd.mechanisms.channels.grid import Grid
from quietcrowd.mechanisms.channels.noise import DiscreteLaplace
from quietcrowd.mechanisms.channels.per_worker import UniformEpsilons
from quietcrowd.mechanisms.channels.sketch import TaskProfile
from quietcrowd.mechanisms.channels.table import TableChannel
from quietcrowd.mechanisms.randomness import uniform_integers, words_in_turn
from quietcrowd.mechanisms.worker_table import worker_table
from quietcrowd.privacy.rounding import as_entered, ratio_up

FOLDER = Path(__file__).parent / "vectors"

PLENTY = 20_000
ONES = 2**32 - 1
CHANCES = {"decaying": decaying, "logistic": logistic}


class Words:
    """Words in turn, and how many were taken."""

    def __init__(self, text):
        self.source = words_in_turn(np.frombuffer(bytes.fromhex(text), ">u4").astype(np.uint32))
        self.taken = 0

    def __call__(self, count):
        self.taken += count
        return self.source(count)


def spelled(words):
    """Return words as a file holds them: eight hexadecimal digits each."""
    return np.asarray(words, ">u4").tobytes().hex()


# What an input gives, by kind. ``run_vectors.js`` has the same functions.


def coin(one):
    rate = Fraction(int(one["over"]), int(one["under"]))
    return str(CHANCES[one["chance"]](rate)(one["bits"]))


def laplace(one):
    words = Words(one["words"])
    noise = DiscreteLaplace(scale=one["scale"]).draw(one["count"], words).tolist()
    return {"noise": noise, "taken": words.taken}


def blocks(one):
    """Return sums of many values, which are drawn in blocks, and two of them one by one."""
    words = words_in_turn(stepped(one["step"], 20 * one["count"], one["edits"]))
    noise = DiscreteLaplace(scale=one["scale"]).draw(one["count"], words).tolist()
    return [sum(noise), sum(place * value for place, value in enumerate(noise)), *noise[-2:]]


def stepped(step, count, edits):
    """Return words a step apart, some of them replaced: pairs of places and words."""
    words = (np.arange(count, dtype=np.uint64) * np.uint64(step)).astype(np.uint32)
    for place, word in edits:
        words[place] = word
    return words


def table(one):
    channel = TableChannel.__new__(TableChannel)  # a row of any loss
    object.__setattr__(channel, "weights", np.array([one["row"]], np.uint64))
    answers = np.zeros(len(one["words"]) // 8, int)
    return channel.sample(answers, Words(one["words"])).tolist()


def integers(one):
    words = Words(one["words"])
    drawn = uniform_integers(words, 0, one["size"] - 1, one["count"]).tolist()
    return {"integers": drawn, "taken": words.taken}


def scale(one):
    return ratio_up(Fraction(int(one["over"]), int(one["under"])))


def weights(one):
    drawn = UniformEpsilons(size=one["size"], epsilon=one["epsilon"], null=False).table
    return [*drawn[:3], *drawn[-3:], sum(drawn)]


def grid(one):
    return Grid(**one["grid"], high=0.0).places(np.array(one["numbers"], np.float64)).tolist()


def shake(one):
    return hashlib.shake_256(one["message"].encode()).hexdigest(one["size"])


def profile(one):
    distribution = TaskProfile(**one["profile"])
    return distribution.matrix(pa.array(one["tasks"])).tolist()


def canonical(one):
    value = json.loads(one["text"])
    return [canonical_json(value).decode(), canonical_hash(value).hex()]


def draw(one):
    """Return reports as they are sent: as a device makes them of random words."""
    mechanism = Mechanism.from_dict(one["terms"]["mechanism"])
    words, rule = Words(one["words"]), report_rule(mechanism, len(one["tasks"]))
    answers = worker_table(
        dict(one["answers"]),
        domain=mechanism.domain,
        tasks=sorted(one["tasks"]),
        worker="w",
        campaign="c",
    )
    reports = mechanism.reports_of_words(answers, words)
    if reports.sketches is not None:
        numbers = rule.cut_off(reports.sketches[0]).tolist()
        return {"numbers": numbers, "taken": words.taken}
    coded = coded_reports(reports, rule)
    listed = [
        {"task": task, "value": value} | ({} if bit is None else {"bit": bit})
        for task, (value, bit) in coded.items()
    ]
    return {"reports": listed, "taken": words.taken}


def budgets(one):
    """Return what a report costs, what campaigns of one each use, and which budgets they fit."""
    mechanism = Mechanism.from_dict(one["terms"]["mechanism"])
    ledger = qc.PrivacyLedger()
    for place in range(one["campaigns"] - 1):
        ledger = ledger.charge("w", mechanism, tasks=1, campaign=f"{place}")
    last = {"tasks": 1, "campaign": "last"}
    cost = ledger.charge("v", mechanism, **last).used("v", 0)
    used = ledger.charge("w", mechanism, **last).used("w", 0)
    return [
        *(cost, used),
        *(not ledger.would_exceed("w", mechanism, most, **last) for most in one["budgets"]),
    ]


GIVES = {
    "blocks": blocks,
    "budgets": budgets,
    "canonical": canonical,
    "coin": coin,
    "draw": draw,
    "grid": grid,
    "integers": integers,
    "laplace": laplace,
    "profile": profile,
    "scale": scale,
    "shake": shake,
    "table": table,
    "weights": weights,
}


# Inputs.


def stream(seed, edits=None):
    """Return many random words, some of them replaced: a mapping of places to words."""
    words = np.random.default_rng(seed).integers(0, 2**32, size=PLENTY, dtype=np.uint32)
    for place, word in (edits or {}).items():
        words[place] = word
    return words


def taken(gives, one, words):
    """Return an input with as many of the words as it takes."""
    count = gives({**one, "words": spelled(words)})["taken"]
    return {**one, "words": spelled(words[:count])}


def coin_inputs():
    rates = [(1, 3), (5, 7), (1, 2**46), (64, 1), (2**60 + 1, 2**53), (750, 1), (3, 10**30)]
    return [
        {"chance": chance, "over": str(over), "under": str(under), "bits": bits}
        for chance in CHANCES
        for over, under in rates
        for bits in (32, 64, 256)
    ]


def coins_of(scale):
    """Return the chances of the binary digits at a scale, and at last that of a rest."""
    ratio, digits = Fraction(scale), 0
    while 2**digits < 32 * ratio:
        digits += 1
    return [*(logistic(2**place / ratio) for place in range(digits)), decaying(2**digits / ratio)]


def digits_of(chance, place):
    """Return the 32 binary digits of a chance that a word is compared with, 0 the first."""
    return chance(32 * (place + 1)) & ONES


def laplace_inputs():
    of_eight, last = coins_of(8.0), 2 * 9
    tie = {2: digits_of(of_eight[2], 0), 5 + 9: digits_of(of_eight[5], 0)}
    edits = [
        (8.0, 1, {}),
        (8.0, 1, dict.fromkeys(range(18), ONES)),
        (8.0, 1, {place: 0 if place % 9 < 8 and place < 9 else ONES for place in range(18)}),
        (8.0, 1, tie | {last: digits_of(of_eight[2], 1) - 1, last + 1: ONES}),
        (8.0, 1, tie | {last: digits_of(of_eight[2], 1), last + 1: 0, last + 2: 0}),
        (8.0, 1, {8: 0, 17: 0} | dict.fromkeys(range(last, last + 4), 0)),
        (8.0, 2, {8: 0, last * 2: 0, last * 2 + 1: 0, last * 2 + 2: 0, last * 2 + 3: ONES}),
        *((scale, 3, {}) for scale in (1.0, 1.7, 0.1 * 23, 2304.0, 1e9 / 7, 2.0**46)),
    ]
    return [
        taken(laplace, {"scale": scale, "count": count}, stream(seed, edited))
        for seed, (scale, count, edited) in enumerate(edits)
    ]


def block_inputs():
    tie = digits_of(coins_of(8.0)[2], 0)
    one = {"scale": 8.0, "count": 4100, "step": 2654435761}
    return [{**one, "edits": edits} for edits in ([], [[2, tie]], [[2, tie], [18 * 4096 + 2, tie]])]


def table_inputs():
    rows = [
        [3 * 2**30, 2**30],
        [0, 2**32],
        [2**32, 0],
        [0, 5, 0, 2**32 - 6, 1, 0],
        [1431655766, 1431655765, 1431655765],
    ]
    words = [0, 1, 4, 5, 6, 2**30, 1431655765, 1431655766, 3 * 2**30 - 1, 3 * 2**30, ONES - 1, ONES]
    return [{"row": row, "words": spelled(words)} for row in rows]


def integer_inputs():
    edits = [
        (5, 4, {}),
        (5, 3, {0: ONES, 1: ONES, 4: ONES, 5: ONES, 6: ONES, 7: ONES}),
        (2**32, 3, {0: ONES, 1: ONES}),
        (2**32 + 1, 2, {0: ONES, 1: ONES}),
        (1, 2, {0: ONES, 1: ONES}),
        (1025, 3, {}),
    ]
    return [
        taken(integers, {"size": size, "count": count}, stream(seed, edited))
        for seed, (size, count, edited) in enumerate(edits)
    ]


def weight_inputs():
    sizes, epsilons = (3, 64), (0.0, 1e-9, 1.0, 8.0)
    return [{"size": size, "epsilon": epsilon} for size in sizes for epsilon in epsilons]


def grid_inputs():
    steps = {"low": -1.0, "step": 0.25, "steps": 8}
    ties = [-1 + 0.125 * place for place in range(-2, 20)]
    near = [np.nextafter(-0.875, -1), np.nextafter(-0.875, 0), 0.1, 0.1 + 0.2, -0.0]
    far = [-1e300, 1e300, -1.0000001, 1.0000001]
    return [
        {"grid": steps, "numbers": [*ties, *map(float, near), *far]},
        {
            "grid": {"low": 0.1, "step": 2.0**-7, "steps": 1280},
            "numbers": [0.37, 5.005, 9.62],
        },
        {"grid": {"low": 1e6, "step": 2.0**-24, "steps": 2**24}, "numbers": [1e6 + 1 / 3, 1000001]},
    ]


def scale_inputs():
    ratios = [(1, 1), (10, 3), (2**53 - 1, 2**52), (2**54 + 1, 2**53), (2**54 - 1, 2**10)]
    exact = [Fraction(2**24) / Fraction(epsilon) for epsilon in (0.35, 0.1, 1.0, 1e-5, 3.3)]
    pairs = [*ratios, *((ratio.numerator, ratio.denominator) for ratio in exact)]
    return [{"over": str(over), "under": str(under)} for over, under in pairs]


def shake_inputs():
    lengths = [(0, 32), (3, 200), (135, 137), (136, 272), (137, 1), (500, 400)]
    return [{"message": ("é" + "abc" * 200)[:size], "size": out} for size, out in lengths]


def profile_inputs():
    distributions = [
        ("gaussian", 5, 7),
        ("rademacher", 11, 0),
        ("buckets", 6, 10**18),
        ("gaussian", 1, 1),
    ]
    return [
        {"profile": {"kind": kind, "rank": rank, "seed": seed}, "tasks": ["a", "Straße 😀", ""]}
        for kind, rank, seed in distributions
    ]


def canonical_inputs():
    texts = [
        "null",
        "[true, false, -0.0, 0, 1.0, 1e21, 1e20, 123456789012345680000, 1e-6, 2.5e-7, 5e-324]",
        "[1.7976931348623157e308, 9007199254740991, -9007199254740991, 0.1, 0.30000000000000004]",
        '{"b": [1, {}], "a": "é", "": [], "\\ud83d\\ude00": 1, "\\uffee": 2, "z": {"y": 1}}',
        '"\\u0000\\u001f\\b\\f\\n\\r\\t\\"\\\\/\\u007f\\u2028\\u2029<>&"',
        '{"10": 1, "9": 2, "1": 3}',
    ]
    return [{"text": text} for text in texts]


NAMES = ["a", "b", "c", "task 7", "é", "z", "\uffee", "😀"]
LABELS = qc.Categorical(["no", "yes", "maybe"])
LEVELS = qc.Ordinal([0, 1, 2.5, 7, 10])
RANGE = qc.Interval(low=0.0, high=10.0)
NUMBERS = [0.0, 10.0, 5.00390625, 5.01171875, 3.3333333333333335]


def with_ties(scale, tasks, *, below):
    """Return edits of the words of Laplace noise: a rest that goes beyond all bounds, and a tie."""
    coins = coins_of(scale)
    heads = [0, 0, 0]  # of the coin of a rest: its digits begin with 64 zeros
    tie = digits_of(coins[4], 1) - 1
    further = [tie, *heads[1:]] if below else [*heads[1:], tie]
    rest = (1 + below) * len(coins) - 1
    first = {rest: heads[0], len(coins) + 4: digits_of(coins[4], 0)}
    return first | dict(enumerate([*further, *heads, ONES], start=2 * tasks * len(coins)))


def mechanisms():
    """Yield mechanisms of a campaign, with edits of the words."""
    two, labels = qc.Categorical([False, True]), qc.Ordinal(range(4))
    yield qc.RandomizedResponse(domain=two, epsilon=1.0), {0: 0, 1: ONES}
    yield qc.RandomizedResponse(domain=LABELS, epsilon=0.0), {0: 0, 1: ONES}
    yield qc.RandomizedResponse(domain=labels, flip_probability=0.9), {}
    yield qc.RandomizedResponse(domain=LABELS, epsilon=1.0, missing="category"), {0: 0, 1: ONES}
    yield OptimalMechanism(domain=LABELS, epsilon=1.0, prior={"no": 0.7}), {0: 0, 1: ONES}
    yield OptimalMechanism(domain=labels, epsilon=0.3, information="fisher"), {0: 0, 1: ONES}
    yield TwoLayerRandomizedResponse(domain=LABELS, low=0.0, high=0.7), {}
    yield TwoLayerRandomizedResponse(domain=two, low=0.25, high=0.25), {}
    for epsilon, null in ((1.0, None), (1.0, "category"), (0.0, "category")):
        drawn = {"epsilon": epsilon, "distribution": "epsilon", "missing": null}
        yield TwoLayerRandomizedResponse(domain=LABELS, **drawn), {}
    yield qc.SubsetSelection(domain=LABELS, epsilon=1.0, set_size=2), {0: 0, 1: 0, 2: ONES, 3: ONES}
    for count, epsilon in ((2, 0.0), (4, 0.5), (20, 1.0), (64, 0.1), (64, 8.0)):
        yield qc.SubsetSelection(domain=qc.Ordinal(range(count)), epsilon=epsilon), {}
    alone = qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, fill=None)
    for below in (False, True):
        yield alone, with_ties(alone.channel.noise.scale, 5, below=below)
    yield qc.LaplaceMechanism(domain=LEVELS, epsilon=1.0), {0: ONES, 1: ONES}
    yield qc.LaplaceMechanism(domain=RANGE, epsilon=3.0), {}
    yield qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, fill="midpoint", step=0.5), {}
    yield qc.LaplaceMechanism(domain=LEVELS, epsilon=0.1, fill=3.3), {}
    yield qc.LaplaceMechanism(domain=LEVELS, epsilon=1.0, scale="paper"), {}
    yield qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, participation="released"), {}
    yield qc.LaplaceMechanism(domain=qc.Interval(low=0, high=1e-5), epsilon=1e-9, fill=None), {}
    for kind in (qc.PiecewiseMechanism, DuchiMechanism, HybridMechanism):
        yield kind(domain=LEVELS, epsilon=1.0, step=0.5), {0: 0, 1: ONES, 2: 0x9FFFFFFF}
    yield HybridMechanism(domain=RANGE, epsilon=6.0), {0: ONES - 1}
    for kind in ("gaussian", "rademacher", "buckets"):
        yield MatrixFactorization(domain=LEVELS, epsilon=1.0, rank=4, profile=kind), {}
    moments = {"rank": 3, "variant": "statistics", "fill": 1.0, "seed": 5}
    yield MatrixFactorization(domain=RANGE, epsilon=0.7, **moments), {}
    for kind, alpha, beta in ((two, 2, 2), (LABELS, 5, 16)):
        distribution = {
            "distribution": "beta",
            "low": 0.05,
            "high": 0.6,
            "alpha": alpha,
            "beta": beta,
        }
        yield TwoLayerRandomizedResponse(domain=kind, **distribution), {}


def draw_inputs():
    inputs = []
    for seed, (mechanism, edits) in enumerate(mechanisms()):
        described = {
            "mechanism": mechanism.to_dict(),
            "channel": mechanism.channel.describe(),
            "report": report_rule(mechanism, len(NAMES)).to_dict(),
        }
        if isinstance(mechanism.domain, qc.Interval):
            answers = [number / 10 * mechanism.domain.high for number in NUMBERS]
        else:
            answers = [mechanism.domain.labels[i % mechanism.domain.size] for i in range(5)]
        one = {
            "terms": json.loads(canonical_json(described)),
            "tasks": NAMES[::-1],
            "answers": [*zip(NAMES[1:6][::-1], answers, strict=True), (NAMES[0], None)],
        }
        inputs.append(taken(draw, one, stream(seed, edits)))
    nobody = {**inputs[0], "answers": []}
    return [*inputs, taken(draw, nobody, stream(0))]


def entered_in(kind, epsilon):
    """Return a mechanism for which somebody entered an epsilon."""
    return {
        "one-layer": lambda: qc.RandomizedResponse(domain=LABELS, epsilon=epsilon),
        "sets": lambda: qc.SubsetSelection(domain=LABELS, epsilon=epsilon),
        "laplace": lambda: qc.LaplaceMechanism(domain=RANGE, epsilon=epsilon, fill=None),
        "released": lambda: qc.LaplaceMechanism(
            domain=qc.Interval(low=0.0, high=7.3), epsilon=epsilon, participation="released"
        ),
        "duchi": lambda: DuchiMechanism(domain=LEVELS, epsilon=epsilon),
        "factors": lambda: MatrixFactorization(domain=LEVELS, epsilon=epsilon, rank=3),
    }[kind]()


def budget_inputs():
    rng = np.random.default_rng(7)
    entered = [(0.1, 3), (0.07, 3), (0.9, 7), (1.1, 3), (0.2, 3), (3.3, 11), (0.3, 1)]
    drawn = [
        (round(float(rng.uniform(0.01, 4)), int(rng.integers(2, 17))), int(rng.integers(2, 12)))
        for _ in range(4)
    ]
    return [
        {
            "terms": {**described_for(entered_in(kind, epsilon)), "epsilon": epsilon},
            "campaigns": count,
            "budgets": [math.nextafter(at, 0), at, math.nextafter(at, math.inf)],
        }
        for place, (epsilon, count) in enumerate([*entered, *drawn])
        for kind in ("one-layer", "sets", "laplace", "released", "duchi", "factors")[place % 3 :: 3]
        for at in [float(count * as_entered(epsilon))]
    ]


def described_for(mechanism):
    """Return what a page's ledger reads of a campaign with one task."""
    stated = mechanism.guarantee(tasks=1)
    losses = {"epsilon": stated.epsilon, "workerEpsilon": stated.total_epsilon, "tasks": 1}
    described = {
        "mechanism": mechanism.to_dict(),
        "channel": mechanism.channel.describe(),
        "report": report_rule(mechanism, 1).to_dict(),
        "guarantee": losses,
    }
    return json.loads(canonical_json(described))


INPUTS = {
    "blocks": block_inputs,
    "budgets": budget_inputs,
    "canonical": canonical_inputs,
    "coin": coin_inputs,
    "draw": draw_inputs,
    "grid": grid_inputs,
    "integers": integer_inputs,
    "laplace": laplace_inputs,
    "profile": profile_inputs,
    "scale": scale_inputs,
    "shake": shake_inputs,
    "table": table_inputs,
    "weights": weight_inputs,
}


def written(kind):
    """Return the text of the file of a kind: one input a line, with what it gives."""
    gives, inputs = GIVES | LOSS_GIVES | TERMS_GIVES, INPUTS | LOSS_INPUTS | TERMS_INPUTS
    cases = [{**one, "gives": gives[kind](one)} for one in inputs[kind]()]
    lines = [json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def write():
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    for kind in INPUTS | LOSS_INPUTS | TERMS_INPUTS:
        (FOLDER / f"{kind}.json").write_text(written(kind), "utf-8")


if __name__ == "__main__":
    write()
