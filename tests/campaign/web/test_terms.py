"""What a page agrees to: it refuses what the Python client refuses, in words for everybody."""

import hashlib
import json
import random
import re
import unicodedata

import pytest
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.web.browser import serve
from tests.campaign.web.terms_vectors import IN_A_PAGE, SHOWN, TERMS_INPUTS, configured, letters
from tests.campaign.web.test_worker import CALL, WORKER
from tests.campaign.web.write_vectors import FOLDER, written

import quietcrowd as qc
from quietcrowd.campaign.device.checked_terms import Terms, read_tasks
from quietcrowd.campaign.terms import configuration, near_copies
from quietcrowd.campaign.terms.canonical import canonical_hash, canonical_json
from quietcrowd.domains import Domain
from quietcrowd.exceptions import CampaignError, ParameterError
from quietcrowd.mechanisms import MatrixFactorization
from quietcrowd.mechanisms.channels import read_channel

LANGUAGES = ("en", "de")
CATALOGS = {
    tag: json.loads((WORKER / "messages" / f"{tag}.json").read_text("utf-8")) for tag in LANGUAGES
}


@pytest.fixture(scope="module")
def page(browser):
    with browser.new_page() as page:
        serve(page, {"": FOLDER.parent, "/worker": WORKER})
        yield page


def refusals(page, inputs, tag="en"):
    return page.evaluate(CALL, ["refusals", inputs, tag])


def test_all_languages_have_the_same_messages():
    english = CATALOGS["en"]
    for catalog in CATALOGS.values():
        assert catalog.keys() == english.keys()
        for key, message in catalog.items():
            assert set(re.findall(r"\{\w+\}", message)) == set(
                re.findall(r"\{\w+\}", english[key])
            ), key


NEEDS = {
    "en": ("do not take part", "inform the sender of the link"),
    "de": ("nehmen sie nicht teil", "sagen sie der person bescheid"),
}


@pytest.mark.parametrize("tag", LANGUAGES)
def test_refusals_of_terms_say_what_to_do(tag):
    told = ("config", "members", "other-campaign", "counts", "unsound", "terms")
    for key in (*told, "loss", "tasks", "copies"):
        said = CATALOGS[tag][f"refusal.{key}"].casefold()
        assert all(need in said for need in NEEDS[tag])
        assert said.endswith(".")


def cases_of(kind):
    return json.loads((FOLDER / f"{kind}.json").read_text("utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", TERMS_INPUTS)
def test_python_gives_what_the_vectors_say(kind):
    assert (FOLDER / f"{kind}.json").read_text("utf-8") == written(kind)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("kind", TERMS_INPUTS)
def test_a_browser_gives_what_the_vectors_say(page, kind):
    """Losses are floats, which each side rounds for itself."""
    cases = cases_of(kind)
    expected = [case["gives"] for case in cases]
    if kind == "losses":
        expected = [pytest.approx(one, rel=1e-12, abs=0) for one in expected]
    assert page.evaluate(CALL, ["run", kind, cases]) == expected


SEED = 0
PART = 20_000


def table():
    return [chr(code) for code in near_copies._confusables()]


def assigned():
    """Return all characters that this version of Python knows."""
    kinds = ((chr(code), unicodedata.category(chr(code))) for code in range(0x110000))
    return [one for one, kind in kinds if kind not in ("Cn", "Co", "Cs")]


def random_texts(letters, count):
    rng = random.Random(SEED)
    parts = [*letters, *(len(letters) // 20 * "Il1O0m .?-3a")]
    return ["".join(rng.choices(parts, k=rng.randrange(2, 12))) for _ in range(count)]


TEXTS = {
    "the whole table": table,
    "random texts": lambda: random_texts(table(), 4000),
    "every character": assigned,
    "any texts": lambda: random_texts(assigned(), PART),
}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_a_page_finds_the_near_copies_that_python_finds(page, name):
    every = TEXTS[name]()
    for start in range(0, len(every), PART):
        texts = every[start : start + PART]
        tasks = [(f"t{place}", {"ask": text}) for place, text in enumerate(texts)]
        expected = letters({"tasks": tasks})
        [given] = page.evaluate(CALL, ["run", "letters", [{"tasks": tasks}]])
        both = zip(texts, given[2:], expected[2:], strict=True)
        assert [ascii(text) for text, there, here in both if there != here] == []
        assert given[:2] == expected[:2]


def with_config(one, config):
    """Return an input with another configuration, whose hash is right."""
    return {**one, "text": canonical_json(config).decode()}


def python_refuses(one):
    """Return whether the Python client refuses a configuration or its tasks."""
    config = json.loads(one["text"])
    hashed = one.get("hash") or hashlib.sha256(one["text"].encode()).hexdigest()
    try:
        terms = Terms.read({"config": config, "config_hash": hashed}, 32 * "5")
        read_tasks({"config_hash": hashed, "tasks": one["tasks"]}, terms)
    except CampaignError:
        return True
    return False


def changes(value, path=""):
    """Yield paths, and a JSON value with the member there changed, left out, or added."""
    if isinstance(value, dict):
        yield f"{path}+", {**value, "more": 1}
        for key, part in value.items():
            yield f"{path}.{key}-", {name: one for name, one in value.items() if name != key}
            yield from ((at, {**value, key: one}) for at, one in changes(part, f"{path}.{key}"))
    elif isinstance(value, list):
        yield f"{path}+", [*value, *value[-1:]]
        yield f"{path}-", value[:-1]
        for place, part in enumerate(value[:2]):
            for at, one in changes(part, f"{path}.{place}"):
                yield at, [*value[:place], one, *value[place + 1 :]]
    elif value is None or isinstance(value, bool):
        yield from ((f"{path}={one}", one) for one in (not value, 1, "x"))
    elif isinstance(value, str):
        yield from ((f"{path}={one}", one) for one in (f"{value}x", 3, [value]))
    else:
        others = (value * 0.5 or 1e-3, value + 1, -value or -1, str(value), None, [value])
        yield from ((f"{path}={one}", one) for one in others)


OWN = re.compile(
    r"\.mechanism(\+|\.(?!domain))|\.channel\.(fill=|profile\.seed=|moments_epsilon=0\.25$)"
)
"""Paths of changes to the parameters of a mechanism, or to a channel that then loses no more.

A page does not compare one with the other, because it does not know mechanisms. So it may take what
Python refuses, if the channel is sound.
"""

OF_LABELS = re.compile(r"\.mechanism\.domain\.labels\.")
"""Paths of changes to labels, which the parameters of `optimal` name too."""

EARLIER = (".channel.per_worker-", ".channel.numbered-")
"""Paths of changes that give the channel of an earlier version, which only Python takes."""


def is_sound(one):
    """Return whether a configuration has a channel that a page may take."""
    config = json.loads(one["text"])
    try:
        domain = Domain.from_dict(config["mechanism"]["domain"])
        return read_channel(config["channel"], domain) is not None
    except ParameterError:
        return False


def is_right(path, one, said, *, names_labels):
    """Return whether a page that said this of a changed configuration did right."""
    if path in EARLIER:
        return said is not None
    if said is not None:
        return python_refuses(one)
    own = OWN.match(path) or (names_labels and OF_LABELS.match(path))
    return is_sound(one) if own else not python_refuses(one)


SOON = ("one-layer", "matrix factorisation, statistics")
EACH = [
    pytest.param(name, marks=pytest.mark.slow if name in SOON else pytest.mark.nightly)
    for name in IN_A_PAGE
]


@pytest.mark.grid
@pytest.mark.parametrize("name", EACH)
def test_a_page_refuses_each_change_that_python_refuses(page, name):
    honest = configured(MECHANISMS[name], SHOWN, answers=4, promises={})
    changed = [
        (path, with_config(honest, one))
        for path, one in changes(json.loads(honest["text"]))
        if canonical_json(one).decode() != honest["text"]
    ]
    given = refusals(page, [one for _, one in changed])
    wrong = [
        (path, said)
        for (path, one), said in zip(changed, given, strict=True)
        if not is_right(path, one, said, names_labels=name == "optimal")
    ]
    assert wrong == []
    compared = [said for (path, _), said in zip(changed, given, strict=True) if not OWN.match(path)]
    assert sum(said is not None for said in compared) > 0.8 * len(compared) > 80
    assert all(said is None or said[0].startswith("refusal.") for said in given)
    assert refusals(page, [honest]) == [None]


@pytest.mark.slow
def test_a_page_refuses_all_that_has_another_hash_or_spelling(page):
    honest = configured(MECHANISMS["one-layer"], SHOWN, promises={})
    hashed = hashlib.sha256(honest["text"].encode()).hexdigest()
    titled = with_config(honest, {**json.loads(honest["text"]), "title": "Other"})
    respelled = {**honest, "text": honest["text"].replace(":", ": ", 1)}
    twice = {**honest, "text": honest["text"].replace('{"', '{"title":"x","', 1)}
    changed = [{**titled, "hash": hashed}, respelled, twice, {**honest, "hash": 64 * "0"}]
    assert [said[0] for said in refusals(page, changed)] == 4 * ["refusal.config"]
    other = {**honest, "campaign": 32 * "6"}
    assert [said[0] for said in refusals(page, [other])] == ["refusal.other-campaign"]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "[]", "null", "3", "{}", '{"version":2}', '{"version":3}'])
def test_what_is_no_configuration_is_refused(page, text):
    one = {"text": text, "tasks": [], "campaign": 32 * "5", "hash": 64 * "0"}
    [[key, said]] = refusals(page, [one], "de")
    assert key in ("refusal.config", "refusal.version", "refusal.members")
    assert "ehmen Sie nicht teil" in said or "Laden Sie die Seite später neu" in said


def softened(mechanism, **members):
    """Return a campaign whose server computes with a part of it changed, all else right."""
    honest = configured(mechanism, SHOWN, promises={})
    config = json.loads(honest["text"])
    for path, value in members.items():
        place = config
        *rooms, last = path.split("__")
        for room in rooms:
            place = place[room]
        place[last] = value
    return with_config(honest, config)


LIES = {
    "another table": {"channel__weights": [[2**32 - 1, 1], [1, 2**32 - 1]]},
    "other bounds of reports": {"report__value": [0, 2]},
    "another sentence": {"consent": ["You lose nothing."]},
    "no sentence": {"consent": []},
    "a lower loss": {"guarantee__worker_epsilon": 0.1},
    "a slightly lower loss": {"guarantee__answer_epsilon": 1 - 1e-9},
    "participation": {"guarantee__participation_protected": True},
    "no assumption": {"guarantee__assumptions": []},
    "fewer linked": {"linked": 1},
    "another kind": {"channel__kind": "toString"},
}


@pytest.mark.slow
def test_lies_are_refused_in_sentences(page):
    inputs = [softened(MECHANISMS["one-layer"], **lie) for lie in LIES.values()]
    for tag in LANGUAGES:
        for (key, said), name in zip(refusals(page, inputs, tag), LIES, strict=True):
            assert key.startswith("refusal."), name
            assert said.endswith("."), name
            assert "{" not in said, name
    named = dict(zip(LIES, refusals(page, inputs), strict=True))
    assert named["a lower loss"][0] == named["another sentence"][0] == "refusal.loss"
    assert "ε = 4.99999999" in named["a lower loss"][1]
    assert named["another table"][0] == "refusal.unsound"
    assert named["another kind"][0] == "refusal.mechanism"


@pytest.mark.slow
def test_a_page_reads_only_the_domain_of_a_mechanism(page):
    """Its name, its version and its parameters say where the channel comes from, and no more."""
    others = ({"mechanism__epsilon": 0.5}, {"mechanism__mechanism": "x"}, {"mechanism__version": 2})
    inputs = [softened(MECHANISMS["one-layer"], **other) for other in others]
    assert refusals(page, inputs) == [None, None, None]
    one_label = {"kind": "categorical", "labels": ["no"]}
    other = softened(MECHANISMS["one-layer"], mechanism__domain=one_label)
    assert [said[0] for said in refusals(page, [other])] == ["refusal.unsound"]


@pytest.mark.slow
def test_tables_that_protect_nobody_are_refused_and_what_no_page_draws(page):
    honest = configured(MECHANISMS["one-layer"], SHOWN, promises={})
    config = json.loads(honest["text"])
    config["mechanism"] |= {"epsilon": None, "flip_probability": 0.0, "other_weight": 0}
    config["channel"]["weights"] = [[2**32, 0], [0, 2**32]]
    config["guarantee"] |= dict.fromkeys(("answer_epsilon", "linked_epsilon", "worker_epsilon"))
    [[key, _]] = refusals(page, [with_config(honest, config)])
    assert key == "refusal.unsound"
    ridge = configured(MECHANISMS["matrix factorisation, ridge"], SHOWN, promises={})
    assert [said[0] for said in refusals(page, [ridge])] == ["refusal.mechanism"]


@pytest.mark.slow
def test_other_tasks_than_those_agreed_to_are_refused(page):
    honest = configured(MECHANISMS["one-layer"], SHOWN, promises={})
    tasks = honest["tasks"]
    swapped = [{**one, "task_id": tasks[-1 - i]["task_id"]} for i, one in enumerate(tasks)]
    others = [
        *(tasks[::-1], tasks[:-1], [*tasks, tasks[-1]], swapped, [], None, {}),
        *([{**tasks[0], "data": {"ask": "?"}}, *tasks[1:]], [{**tasks[0], "more": 1}, *tasks[1:]]),
        [None, *tasks[1:]],
    ]
    given = refusals(page, [{**honest, "tasks": one} for one in others])
    assert [said[0] for said in given] == len(others) * ["refusal.tasks"]
    config = json.loads(honest["text"])
    listed = [{**one, "task": "same"} for one in tasks]
    doubled = with_config(honest, {**config, "tasks_hash": canonical_hash(listed).hex()})
    [[key, _]] = refusals(page, [{**doubled, "tasks": listed}])
    assert key == "refusal.tasks"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one-layer", "two-layer", "matrix factorisation"])
def test_hidden_copies_are_refused(page, monkeypatch, name):
    with monkeypatch.context() as lying:
        lying.setattr(configuration, "largest_group", lambda *_: 1)
        shown = [{"ask": "Do you take drugs?", "n": place} for place in range(6)]
        one = configured(MECHANISMS[name], shown, promises={})
    [[key, said]] = refusals(page, [one])
    assert key == "refusal.copies"
    assert said.startswith("6 questions ask the same")
    assert "at most 1 do" in said


@pytest.mark.slow
def test_tasks_that_lose_more_than_the_campaign_says_are_refused(page, monkeypatch):
    sketch = MatrixFactorization(domain=qc.Ordinal(range(5)), epsilon=1.0, rank=6)
    shown = [{"ask": f"Question {chr(97 + place)}{chr(98 + place)}"} for place in range(20)]
    honest = configured(sketch, shown, promises={})
    with monkeypatch.context() as server:
        server.setattr(configuration, "loss_of_tasks", lambda *_: 5.0)
        lying = configured(sketch, shown, promises={})
    [fine, [key, said]] = refusals(page, [honest, lying])
    assert fine is None
    assert key == "refusal.loss"
    exact = json.loads(honest["text"])["guarantee"]["worker_epsilon"]
    assert f"ε = {exact!r:.12}" in said


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "rank", "tasks", "variant"),
    [
        *(("gaussian", 8, 300, "fill"), ("gaussian", 20, 1500, "fill")),
        *(("rademacher", 40, 70, "fill"), ("gaussian", 60, 40, "fill")),
        *(("gaussian", 8, 60, "statistics"), ("buckets", 5, 30, "statistics")),
    ],
)
def test_what_named_tasks_lose_is_found_alike(page, kind, rank, tasks, variant):
    """Bounds by singular values are rounded on each side for itself; Python's a little up."""
    mechanism = MatrixFactorization(
        domain=qc.Ordinal(range(5)), epsilon=1.0, rank=rank, profile=kind, variant=variant
    )
    names = [f"t{place}" for place in range(tasks)]
    there = mechanism.guarantee(tasks=names).total_epsilon
    channel = mechanism.channel.describe()
    here, _ = page.evaluate(
        "async (given) => (await import('./run_vectors.js')).namedLoss(...given)", [channel, names]
    )
    here = min(here, tasks * mechanism.channel.epsilon)
    assert here == pytest.approx(there, rel=1e-8)
    assert here <= there * (1 + 1e-12)


@pytest.mark.slow
def test_sentences_are_whole_in_every_language(page):
    shown = [configured(MECHANISMS[name], SHOWN[:4], promises={}) for name in IN_A_PAGE]
    cases = [*shown, *(configured(MECHANISMS[name], SHOWN[4:]) for name in IN_A_PAGE)]
    english, german = (page.evaluate(CALL, ["sayings", cases, tag]) for tag in LANGUAGES)
    for one, case in zip(english, cases, strict=True):
        consent = json.loads(case["text"])["consent"]
        assert " ".join(consent) in " ".join(one)
    assert [len(one) for one in english] == [len(one) for one in german]
    told = [said for one in german for said in one]
    for said in told:
        assert not re.search(r"\{|undefined|NaN|\d\.\d(?!\d\d)", said)
    assert "73,2 % durch eine Antwort, die gesendet wird" in told
    assert any("sich danach zu höchstens 73,2 % sicher" in said for said in told)
