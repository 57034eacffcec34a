import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.accounting.consent import (
    consent_sentences,
    most_sure,
    short_consent,
    show_most_sure,
)
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism, OptimalMechanism
from quietcrowd.privacy import PrivacyGuarantee
from quietcrowd.privacy.tails import TailBound

YES_NO = qc.Categorical(["no", "yes"])


def guarantee(epsilon=1.0, total_epsilon=None, answers=20, **changes):
    return PrivacyGuarantee(
        answers=answers,
        epsilon=epsilon,
        total_epsilon=answers * epsilon if total_epsilon is None else total_epsilon,
        claimed_epsilon=epsilon,
        assumptions=("none",),
        source="none",
        **{"participation_protected": False, **changes},
    )


@given(epsilon=st.floats(0, 50), prior=st.floats(1e-3, 0.999))
def test_the_bound_is_bayes_rule_rounded_up(epsilon, prior):
    sure = most_sure(epsilon, prior)
    before = Fraction(repr(prior))
    odds = sure / (1 - sure) / (before / (1 - before))
    assert float(odds) == pytest.approx(math.exp(epsilon), rel=1e-12)
    assert before <= sure < 1
    shown = show_most_sure(epsilon, prior)
    percent = Fraction(shown.removesuffix(" %"))
    assert percent >= 100 * (sure - Fraction(1, 10**12))
    assert percent - 100 * sure < Fraction(1, 10)


@pytest.mark.parametrize(
    ("epsilon", "prior", "shown"),
    [
        (0.0, 0.5, "50 %"),
        (1.0, 0.5, "73.2 %"),
        (2.0, 0.5, "88.1 %"),
        (1.0, 0.9, "96.1 %"),
        (1.0, 0.01, "2.7 %"),
        (math.log(3), 0.5, "75 %"),
        (7.0, 0.5, "99.91 %"),
        (13.0, 0.5, "99.9998 %"),
        (14.0, 0.5, "100 %"),
        (1e9, 0.5, "100 %"),
        (math.inf, 0.01, "100 %"),
    ],
)
def test_percentages(epsilon, prior, shown):
    assert show_most_sure(epsilon, prior) == shown


@pytest.mark.parametrize("flip", [0.1, 0.25, 0.4])
def test_the_bound_is_reached_by_randomised_response(flip):
    """Bayes' rule on the channel itself, in exact integers."""
    mechanism = qc.RandomizedResponse(domain=YES_NO, flip_probability=flip)
    (kept, other), _ = ([int(weight) for weight in row] for row in mechanism.channel.weights)
    for prior in (0.2, 0.5, 0.9):
        before = Fraction(repr(prior))
        after = before * kept / (before * kept + (1 - before) * other)
        most = most_sure(mechanism.guarantee().epsilon, prior)
        assert 0 <= most - after < Fraction(1, 10**14)


def test_sentences_for_a_worker():
    assert consent_sentences(guarantee(0.25)) == (
        "About one answer: someone who knows all your other answers and was 50 % sure of it before "
        "can become at most 56.3 % sure of it. Someone who does not know them can also learn about "
        "it from their reports. Then the figure for all together is the limit.",
        "About all 20 answers together, and a fact that shows in every one of them, such as a "
        "general opinion: someone who was 50 % sure of it before can become at most 99.4 % sure of "
        "it.",
        "The reports show which questions you answered. Do not skip a question because of your "
        "answer to it. That would reveal more about the answer than these figures allow.",
    )


def test_priors_are_named():
    one, *_ = consent_sentences(guarantee(), priors=(0.5, 0.9))
    assert (
        "73.2 % sure of it; someone who knows all your other answers and was 90 % sure of it "
        "before can become at most 96.1 % sure of it. Someone who does not know them"
    ) in one
    _, both, _ = consent_sentences(guarantee(0.1), priors=(0.25,))
    assert "opinion: someone who was 25 % sure of it before can become at most 71.2 % sure" in both


def test_answers_that_go_together_are_bounded_by_the_second_sentence_alone():
    """Three equal answers and three equal reports: surer of one answer than the first figure."""
    loss = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0).guarantee(answers=3)
    surest = math.exp(3) / (1 + math.exp(3))
    assert most_sure(loss.epsilon) < surest < most_sure(loss.total_epsilon) + Fraction(1, 10**8)
    one, both, _ = consent_sentences(loss)
    assert "Then the figure for all together is the limit" in one
    assert "95.3 %" in both
    (alone, _) = consent_sentences(guarantee(answers=1))
    assert alone.startswith("About one answer: someone who was")


def test_a_single_answer_has_no_sentence_about_all():
    assert len(consent_sentences(guarantee(answers=1))) == 2


def test_what_is_not_hidden_is_said_so():
    one, both, _ = consent_sentences(guarantee(math.inf))
    assert one.startswith("About one answer: this is not protected. No useful limit is promised")
    assert "such as a general opinion: this is not protected." in both
    _, both, _ = consent_sentences(guarantee(1.0, answers=300))
    assert both.endswith("and someone may become practically certain of it.")


@pytest.mark.parametrize(("epsilon", "shown"), [(6.9, "99.9 %"), (6.91, "this is not protected")])
def test_doubts_below_one_in_a_thousand_are_none(epsilon, shown):
    one, *_ = consent_sentences(guarantee(epsilon))
    assert shown in one


@pytest.mark.parametrize("prior", [1 - 1e-9, 0.9999999])
def test_who_was_certain_before_does_not_make_it_unhidden(prior):
    one, *_ = consent_sentences(guarantee(0.0), priors=(prior,))
    assert "not protected" not in one
    assert "was 100 % sure of it before can become at most 100 % sure of it" in one
    one, *_ = consent_sentences(guarantee(0.1), priors=(0.5, prior))
    assert "not protected" not in one
    one, *_ = consent_sentences(guarantee(40.0), priors=(0.5, prior))
    assert "this is not protected" in one


def test_participation_and_all_tasks():
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=0.1, missing="category")
    _, both, third = consent_sentences(mechanism.guarantee(answers=2, tasks=10))
    assert both.startswith(
        "About all 10 questions together, answered or not, and a fact that shows"
    )
    assert both.endswith("can become at most 73.2 % sure of it.")
    assert third == (
        "Whether you answered a question is protected like an answer to it. That you take part is "
        "not hidden."
    )


@pytest.mark.parametrize(
    ("delta", "cases"),
    [
        (1e-6, "one of 1,000,000 draws"),
        (0.0917, "one of 10 draws"),
        (0.5, "one of 2 draws"),
        (3e-7, "one of 3,333,333 draws"),
        (1e-300, "one of 1,000,000,000,000,000,000 draws"),
        (0.9, "90 % of all draws"),
        (1 - 1e-16, "100 % of all draws"),
        (1.0, "100 % of all draws"),
    ],
)
def test_chance_is_told(delta, cases):
    tail = TailBound(probability=delta, epsilon=1.2, linked_epsilon=1.2, total_epsilon=3.0)
    one, both, _, last = consent_sentences(guarantee(delta=delta, tail=tail))
    assert f"that is named beforehand. In at most {cases} of your device's noise, more is" in last
    assert last.endswith("that more is revealed about at least one of your answers.")
    assert "before, and otherwise of one other answer, can become at most 76.9 % sure" in one
    assert "otherwise of one other list of answers, can become at most 95.3 % sure" in both
    assert "fact" not in both


def test_figures_beside_a_delta_are_those_of_the_tail():
    tail = TailBound(probability=0.1, epsilon=1.665, linked_epsilon=1.665, total_epsilon=9.0)
    one, *_ = consent_sentences(guarantee(delta=0.1, tail=tail), priors=(0.5, 0.9))
    assert "otherwise of one other answer, can become at most 84.1 % sure of it" in one
    assert (
        "was 90 % sure of it before, and otherwise of one other answer, can become at most 98 %"
        in one
    )
    assert "73.2" not in one


def test_the_first_sentence_is_about_what_linked_answers_share():
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=0.5)
    one, *_ = consent_sentences(mechanism.guarantee(answers=20, linked=4))
    assert one.startswith("About a fact that up to 4 of your answers share, such as answers to")
    assert "(the requester states that no more do)" in one
    assert "at most 88.1 % sure" in one  # of a loss of 2


@pytest.mark.parametrize("mechanism", Mechanism.registry())
def test_no_mechanism_gives_more_certainty_than_its_guarantee(mechanism):
    kind = Mechanism.registry()[mechanism]
    domain = qc.Ordinal(range(3))
    built = kind.from_claimed_epsilon(domain=domain, epsilon=1.0)
    stated = built.guarantee(answers=5, tasks=20)
    one, *_ = consent_sentences(stated)
    (shown,) = re.findall(r"at most ([0-9.]+) %", one)
    assert Fraction(shown) / 100 >= 1 / (1 + Fraction(math.exp(-stated.epsilon)))


@pytest.mark.parametrize(
    "priors",
    [
        *((), (0,), (1,), (math.nan,), ("half",), (0.5, -1), (True,), (Fraction(1, 10**400),)),
        *(5, 0.5, None, "0.5", ""),
    ],
)
def test_priors_are_checked(priors):
    with pytest.raises(ParameterError, match="prior"):
        consent_sentences(guarantee(), priors=priors)


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, None, "1", True, [1.0]])
def test_losses_are_checked(epsilon):
    with pytest.raises(ParameterError, match="epsilon must be at least 0"):
        most_sure(epsilon)


@pytest.mark.parametrize("junk", [None, 1.0, "one", qc.RandomizedResponse])
def test_only_guarantees_are_told(junk):
    with pytest.raises(ParameterError, match="guarantee must be a PrivacyGuarantee"):
        consent_sentences(junk)


def test_losses_of_any_kind_of_number_are_never_rounded_down():
    third = Fraction(1, 3)
    assert float(third) < third
    assert most_sure(third) > most_sure(float(third))
    assert most_sure(1) == most_sure(1.0) == most_sure(np.float32(1.0))
    assert most_sure(10**400) == 1
    assert consent_sentences(guarantee(), priors=np.array([0.5])) == consent_sentences(guarantee())


THREE = qc.Categorical(["no", "yes", "maybe"])
TABLES = (
    qc.RandomizedResponse(domain=YES_NO, epsilon=0.5),
    qc.RandomizedResponse(domain=THREE, epsilon=2.0, missing="category"),
    OptimalMechanism(domain=THREE, epsilon=1.0),
)


@pytest.mark.grid
@pytest.mark.parametrize("mechanism", TABLES)
@pytest.mark.parametrize("seed", range(20))
def test_no_fact_becomes_more_certain_than_is_said(mechanism, seed):
    """A fact with random relations to three answers, by Bayes' rule: the theory page facts.md."""
    table, rng = mechanism.channel.probabilities, np.random.default_rng(seed)
    size, answers = len(table), 3
    stated = mechanism.guarantee(answers=answers, tasks=answers)
    shape = (2, *(size,) * answers)
    joint = rng.dirichlet(np.full(np.prod(shape), rng.choice([0.01, 0.1, 1.0]))).reshape(shape)
    joint /= 2 * joint.sum(axis=(1, 2, 3), keepdims=True)  # 50 % before
    seen = np.einsum("fabc,ai,bj,ck->fijk", joint, table, table, table)
    alone = np.einsum("fabc,ai->fi", joint, table)
    for reports, loss in ((seen, stated.total_epsilon), (alone, stated.epsilon)):
        sure = (reports.max(axis=0) / reports.sum(axis=0)).max()
        assert 0.5 <= sure <= float(most_sure(loss)) + 1e-12


def test_a_fact_that_shows_in_every_answer_reaches_the_limit():
    [mechanism, *_] = TABLES
    table, answers = mechanism.channel.probabilities, 3
    likely = np.einsum("fi,fj,fk->fijk", table, table, table)
    most = most_sure(mechanism.guarantee(answers=answers).total_epsilon)
    assert (likely.max(axis=0) / likely.sum(axis=0)).max() == pytest.approx(float(most), rel=1e-8)


def figures(*args, **changes):
    return short_consent(guarantee(*args, **changes))[1:-1]


def test_the_short_form():
    assert short_consent(guarantee(0.5, answers=10)) == (
        "Someone is 50 % sure of something about you. They become at most",
        "62.3 % sure from one answer that is sent",
        "99.4 % sure from all 10 together",
        "Not hidden: taking part, and skipping. Never skip because of your answer.",
    )
    assert figures(answers=1) == ("73.2 % sure from one answer that is sent",)
    assert figures(answers=2)[1] == "88.1 % sure from both together"
    assert figures(1.0, answers=1_000)[1] == "practically 100 % sure from all 1,000 together"
    assert figures(math.inf)[0] == "practically 100 % sure from one answer that is sent"
    linked = qc.RandomizedResponse(domain=YES_NO, epsilon=0.5).guarantee(answers=20, linked=4)
    assert short_consent(linked)[1] == "88.1 % sure from up to 4 answers about one thing"
    hidden = guarantee(answers=2, tasks=10, participation_protected=True)
    assert short_consent(hidden)[2:] == (
        "88.1 % sure from all 10 together",
        "Not hidden: taking part. Skipping is hidden like an answer: skip freely.",
    )
    together = short_consent(guarantee(total_epsilon=2.0, answers=20), together=True)
    assert together[1:-1] == ("88.1 % sure from everything that is sent",)


def test_the_short_form_with_a_delta_is_about_two_answers():
    tail = TailBound(probability=1e-5, epsilon=1.2, linked_epsilon=1.2, total_epsilon=3.0)
    lines = short_consent(guarantee(delta=1e-5, tail=tail))
    assert lines[:3] == (
        "Someone finds two of your possible answers, or lists of answers, equally likely. Except "
        "in at most one of 100,000 draws, they become at most",
        "76.9 % sure of one, from one answer that is sent",
        "95.3 % sure of one, from all 20 together",
    )
    assert "something about you" not in lines[0]


@pytest.mark.parametrize("junk", [None, 1.0])
def test_the_short_form_is_of_a_guarantee(junk):
    with pytest.raises(ParameterError, match="guarantee must be a PrivacyGuarantee"):
        short_consent(junk)
