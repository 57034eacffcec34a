"""``campaign create -m two-layer``: a low above 0, for the loss that is stated."""

import json

import pytest

from quietcrowd.commands.choices import choose_mechanism
from quietcrowd.commands.two_layer_choice import TwoLayerChoice, sized_maker
from quietcrowd.domains import Categorical, Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.planning.crowd_assumption import CrowdSize
from quietcrowd.planning.equal_loss import mechanism_within

LABELS = Categorical(["no", "yes", "maybe"])


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("two-layer", True),
        ("two-layer:low=0", False),
        ("two-layer:low=0.1", False),
        ("two-layer:law=beta", True),
        ("two-layer:law=beta:low=0", False),
        ("two-layer:law=epsilon", False),
        ("two-layer:law=epsilon:null=category", False),
        ("one-layer", False),
        ("best", False),
    ],
)
def test_whose_low_is_left_open(text, is_open):
    assert (TwoLayerChoice.of(choose_mechanism(text)[1]) is not None) == is_open


@pytest.mark.slow
@pytest.mark.parametrize("text", ["two-layer", "two-layer:law=beta:alpha=3"])
def test_the_loss_is_what_was_asked_for(text, capsys):
    parameters = TwoLayerChoice.of(choose_mechanism(text)[1])
    mechanism = TwoLayerChoice(parameters, 40)(domain=LABELS, epsilon=1.0)
    assert mechanism.low > 0
    assert 0.999 < mechanism.guarantee(answers=40).epsilon <= 1.0
    if "beta" in text:
        assert (mechanism.law, mechanism.alpha, mechanism.beta) == ("beta", 3, 2)
    told = " ".join(capsys.readouterr().err.split())
    assert "one of 40 answers loses at most epsilon = 1." in told
    assert "two-layer:low=0" in told


@pytest.mark.parametrize("answers", [1, 20])
def test_a_plan_has_the_mechanism_of_a_campaign(answers, capsys):
    _, maker = choose_mechanism("two-layer")
    size = CrowdSize(tasks=20, workers=50, answers=answers)
    planned = mechanism_within(sized_maker(maker), LABELS, 1.0, size)
    assert capsys.readouterr().err == ""
    assert planned == TwoLayerChoice({}, answers)(domain=LABELS, epsilon=1.0)
    _, fixed = choose_mechanism("two-layer:low=0")
    assert sized_maker(fixed) is fixed


def test_what_cannot_be_made():
    with pytest.raises(ParameterError, match="epsilon must be above 0"):
        TwoLayerChoice({}, 40)(domain=LABELS, epsilon=0.0)
    with pytest.raises(ParameterError, match="Categorical or Ordinal"):
        TwoLayerChoice({}, 40)(domain=Interval(low=0, high=1), epsilon=1.0)


@pytest.mark.parametrize(
    ("name", "options", "answers"),
    [
        ("two-layer", (), 3),
        ("two-layer", ("--answers", 2), 2),
        ("two-layer", ("--answers", 9), 3),
        ("two-layer:low=0", (), None),
    ],
)
def test_a_campaign_states_the_epsilon_that_it_was_made_for(
    run, tmp_path, monkeypatch, name, options, answers
):
    """The server is none: what would be sent to it is looked at."""
    import httpx

    sent = []

    def post(_, url, **request):
        sent.append(request["json"])
        raise httpx.ConnectError(f"no {url}")

    monkeypatch.setattr(httpx.Client, "post", post)
    (tmp_path / "t.csv").write_text("id,q\na,A?\nb,B?\nc,C?\n")
    words = ("campaign", "create", "T", "--tasks", tmp_path / "t.csv", "--labels", "no,yes")
    status, _, errors = run(*words, "-e", "0.5", "-m", name, "--key", "k", *options)
    assert status == 2, errors
    from quietcrowd.mechanisms import Mechanism

    mechanism = Mechanism.from_dict(json.loads(json.dumps(sent[0]["mechanism"])))
    if answers is None:
        assert mechanism.low == 0
        assert mechanism.guarantee(answers=3).epsilon > 1
    else:
        assert mechanism.low > 0
        assert mechanism.guarantee(answers=answers).epsilon == pytest.approx(0.5, abs=1e-3)
