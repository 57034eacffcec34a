"""The page's modules that randomise: what they may do, and that they give what Python gives."""

import json
import math
import re
from decimal import Decimal
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.web.browser import serve
from tests.campaign.web.write_vectors import FOLDER, INPUTS, written

import quietcrowd as qc
from quietcrowd.campaign.terms.channels import report_rule, why_not_in_page
from quietcrowd.mechanisms import MatrixFactorization

WORKER = Path(str(files("quietcrowd.campaign.web") / "worker"))
SCRIPTS = {
    file.relative_to(WORKER).as_posix(): file.read_text("utf-8")
    for file in sorted(WORKER.rglob("*.js"))
}

MOST_BYTES = 216_000
"""Of all modules; data are not counted."""

FALSE_ALARM = 1e-7
DRAWS = 60_000

FORBIDDEN = (
    *(
        r"\w+://(?!www\.w3\.org/2000/svg\b)",
        r"\beval\b",
        r"\bFunction\b",
        r"\bimport\(",
        r"innerHTML",
        r"outerHTML",
    ),
    *(r"insertAdjacentHTML", r"document\.write", r"Math\.random", r"\bconsole\b"),
    *(r"localStorage", r"sessionStorage"),
)
FORBIDDEN_WHERE_REPORTS_ARE_MADE = (
    *(r"document\b", r"Math\.(?:exp|log|pow)\b", r"indexedDB", r"\bfetch\b", r"\bDate\b"),
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_nothing_forbidden_is_in_a_module(name):
    draws = name.startswith("channels/") and not name.endswith("losses.js")
    within = FORBIDDEN_WHERE_REPORTS_ARE_MADE if draws else ()
    found = [one for one in (*FORBIDDEN, *within) if re.search(one, SCRIPTS[name])]
    assert found == []


def test_modules_are_small():
    assert sum(len(text.encode()) for text in SCRIPTS.values()) < MOST_BYTES
    lines = [line for text in SCRIPTS.values() for line in text.splitlines()]
    assert max(map(len, lines)) <= 100


@pytest.mark.slow
@pytest.mark.parametrize("kind", INPUTS)
def test_python_gives_what_the_vectors_say(kind):
    assert (FOLDER / f"{kind}.json").read_text("utf-8") == written(kind)


def test_vectors_hold_ties_rests_and_what_is_cut_off():
    cases = {kind: json.loads((FOLDER / f"{kind}.json").read_text("utf-8")) for kind in INPUTS}
    words = [len(case["words"]) // 8 for case in cases["laplace"]]
    assert words[:2] == [18, 18]
    assert min(words[3:7]) > 18
    drawn = [case for case in cases["draw"] if case["terms"]["channel"]["kind"] == "shift"]
    for end in (0, 1):
        assert any(
            report["value"] == case["terms"]["report"]["value"][end]
            for case in drawn
            for report in case["gives"]["reports"]
        )
    names = {case["terms"]["mechanism"]["mechanism"] for case in cases["draw"]}
    assert names == {mechanism.name for mechanism in MECHANISMS.values()}
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 420_000


def test_campaigns_fit_a_budget_exactly_where_the_decimals_that_were_entered_do():
    cases = json.loads((FOLDER / "budgets.json").read_text("utf-8"))
    assert {tuple(case["gives"][2:]) for case in cases} == {(False, True, True)}
    for case in cases:
        cost, used, *fits = case["gives"]
        total = case["campaigns"] * Decimal(repr(case["terms"]["epsilon"]))
        assert cost == case["terms"]["epsilon"]
        assert fits == [total <= Decimal(repr(budget)) for budget in case["budgets"]]
        assert fits == [used <= budget for budget in case["budgets"]]
        assert Decimal(repr(used)) >= total


@pytest.fixture(scope="module")
def page(browser):
    with browser.new_page() as page:
        serve(page, {"": FOLDER.parent, "/worker": WORKER})
        yield page


CALL = """async ([name, ...values]) => {
  const module = await import("./run_vectors.js");
  return module[name](...values);
}"""


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("kind", INPUTS)
def test_a_browser_gives_what_the_vectors_say(page, kind):
    cases = json.loads((FOLDER / f"{kind}.json").read_text("utf-8"))
    expected = [case["gives"] for case in cases]
    assert page.evaluate(CALL, ["run", kind, cases]) == expected


def refused(page, kind, one):
    [given] = page.evaluate(CALL, ["run", kind, [one]])
    assert isinstance(given, str)
    return given


def draw_case(mechanism, answers):
    terms = {
        "mechanism": mechanism.to_dict(),
        "channel": mechanism.channel.describe(),
        "report": report_rule(mechanism, 2).to_dict(),
    }
    return {"terms": terms, "tasks": ["a", "b"], "answers": answers, "words": "00" * 8000}


@pytest.mark.slow
def test_a_browser_refuses_what_it_cannot_draw(page):
    ridge = draw_case(MECHANISMS["matrix factorisation, ridge"], [["a", 1.0]])
    assert "cannot compute to the last digit. Take the command" in refused(page, "draw", ridge)
    other = draw_case(MECHANISMS["one-layer"], [["a", "no"]])
    other["terms"]["channel"]["kind"] = "toString"
    assert 'does not know the channel kind "toString"' in refused(page, "draw", other)


WHY_NOT = """async (channel) => {
  const { whyNot } = await import("/worker/channels/index.js");
  return whyNot(channel) === null;
}"""


@pytest.mark.slow
def test_a_campaign_is_refused_where_a_browser_refuses_it(page):
    more = MatrixFactorization(domain=qc.Ordinal(range(5)), epsilon=1.0, rank=3, variant="paper")
    for mechanism in (*MECHANISMS.values(), more):
        can = page.evaluate(WHY_NOT, mechanism.channel.describe())
        assert can == (why_not_in_page(mechanism) is None)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        *(("one-layer", "maybe"), ("one-layer", 1), ("laplace, filled", 2.5)),
        *(("laplace", -0.001), ("laplace", 10.001), ("laplace", "5"), ("laplace", True)),
    ],
)
def test_a_browser_refuses_answers_outside_the_domain_and_does_not_repeat_them(page, name, answer):
    message = refused(page, "draw", draw_case(MECHANISMS[name], [["b", answer]]))
    assert message == 'RangeError: task "b": the answer is outside the domain'
    stranger = refused(page, "draw", draw_case(MECHANISMS[name], [["x", answer]]))
    assert stranger == 'RangeError: the campaign has no task "x"'


@pytest.mark.slow
def test_a_browser_refuses_what_json_cannot_hold(page):
    for text in ('"\\ud800"', '{"\\udc00": 1}', "1e999"):
        assert refused(page, "canonical", {"text": text}).startswith("RangeError")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "one", "message"),
    [
        ("laplace", {"scale": 8.0, "count": 1, "words": "00" * 68}, "there are 17 words"),
        ("laplace", {"scale": 0.99, "count": 1, "words": ""}, "from 1 to 2^46 steps; got 0.99"),
        ("laplace", {"scale": None, "count": 1, "words": ""}, "from 1 to 2^46 steps; got null"),
        ("weights", {"size": 3, "epsilon": -1.0}, "finite and at least 0"),
        ("coin", {"chance": "logistic", "over": "0", "under": "1", "bits": 32}, "above 0"),
        ("table", {"row": [1, 2], "words": "00000003"}, "must sum to 2^32"),
    ],
)
def test_a_browser_refuses_what_gives_no_noise(page, kind, one, message):
    assert message in refused(page, kind, one)


@pytest.mark.slow
def test_a_browser_refuses_sums_that_could_be_inexact(page):
    one = draw_case(MECHANISMS["matrix factorisation"], [])
    one["terms"]["channel"]["grid"]["steps"] = 2**29
    assert "2 tasks with answers of" in refused(page, "draw", one)


@pytest.mark.slow
def test_a_browser_gives_more_words_than_it_does_at_once(page):
    """Of 40,000 words ten or more are equal to others with a chance of 10^-13."""
    assert page.evaluate(CALL, ["differentWords", 40_000]) > 39_990


def laplace_distribution(scale, places):
    return np.exp(-np.abs(places) / scale) * math.tanh(0.5 / scale)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("noise", "parameter"),
    [("laplace", 1.0), ("laplace", 3.7), ("laplace", 40.0), ("integers", 7)],
)
def test_draws_in_a_browser_follow_the_distribution(page, noise, parameter):
    """Ends are taken together; one of all fails by chance less than once in a million times."""
    counts = np.array(page.evaluate(CALL, ["countDraws", noise, parameter, DRAWS]))
    assert counts[:, 1].sum() == DRAWS
    if noise == "integers":
        observed = np.bincount(counts[:, 0], weights=counts[:, 1], minlength=parameter)
        assert stats.chisquare(observed).pvalue > FALSE_ALARM
        return
    edge = max(1, int(2.5 * parameter))
    places = np.arange(-40 * edge, 40 * edge + 1)
    distribution = laplace_distribution(parameter, places)
    expected = np.bincount(np.clip(places, -edge, edge) + edge, weights=distribution)
    ends = np.clip(counts[:, 0], -edge, edge) + edge
    observed = np.bincount(ends, weights=counts[:, 1], minlength=2 * edge + 1)
    expected *= DRAWS / expected.sum()
    assert expected.min() > 5
    assert stats.chisquare(observed, expected).pvalue > FALSE_ALARM
