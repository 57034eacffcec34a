"""``-m best`` and ``plan --rank-mechanisms``, and ``-m two-layer`` with a chosen low."""

import json

import pytest

import quietcrowd as qc
from quietcrowd.accounting.equal_loss import mechanism_within
from quietcrowd.commands import makers
from quietcrowd.commands.choices import choose_mechanism
from quietcrowd.commands.files import PlainAnswers
from quietcrowd.commands.makers import BestMechanism, TwoLayerChoice, sized_maker
from quietcrowd.domains import Categorical, Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.planning import best_mechanism

LABELS = Categorical(["no", "yes", "maybe"])


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("two-layer", True),
        ("two-layer:low=0", False),
        ("two-layer:low=0.1", False),
        ("two-layer:distribution=beta", True),
        ("two-layer:distribution=beta:low=0", False),
        ("two-layer:distribution=epsilon", False),
        ("two-layer:distribution=epsilon:missing=category", False),
        ("one-layer", False),
        ("best", False),
    ],
)
def test_whose_low_is_left_open(text, is_open):
    assert (TwoLayerChoice.of(choose_mechanism(text)[1]) is not None) == is_open


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("text", ["two-layer", "two-layer:distribution=beta:alpha=3"])
def test_the_loss_is_what_was_asked_for(text, capsys):
    parameters = TwoLayerChoice.of(choose_mechanism(text)[1])
    mechanism = TwoLayerChoice(parameters, 40)(domain=LABELS, epsilon=1.0)
    assert mechanism.low > 0
    assert 0.999 < mechanism.guarantee(answers=40).epsilon <= 1.0
    if "beta" in text:
        assert (mechanism.distribution, mechanism.alpha, mechanism.beta) == ("beta", 3, 2)
    told = " ".join(capsys.readouterr().err.split())
    assert "One of 40 answers has a privacy loss of at most epsilon = 1." in told
    assert "two-layer:low=0" in told


@pytest.mark.parametrize("answers", [1, 20])
def test_a_plan_has_the_mechanism_of_a_campaign(answers, capsys):
    _, maker = choose_mechanism("two-layer")
    size = {"tasks": 20, "answers": answers}
    planned = mechanism_within(sized_maker(maker), LABELS, 1.0, **size)
    assert capsys.readouterr().err == ""
    assert planned == TwoLayerChoice({}, answers)(domain=LABELS, epsilon=1.0)
    _, fixed = choose_mechanism("two-layer:low=0")
    assert sized_maker(fixed) is fixed


def test_what_cannot_be_made():
    with pytest.raises(ParameterError, match="epsilon must be a finite number above 0"):
        TwoLayerChoice({}, 40)(domain=LABELS, epsilon=0.0)
    with pytest.raises(ParameterError, match="Categorical or Ordinal"):
        TwoLayerChoice({}, 40)(domain=Interval(low=0, high=1), epsilon=1.0)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("name", "options", "answers"),
    [
        ("two-layer", (), 3),
        ("two-layer", ("--max-answers", 2), 2),
        ("two-layer", ("--max-answers", 9), 3),
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


FACTS = "tasks=40:workers=30:answers_per_task=9:draws=3"
SAME = ("--tasks", 40, "--workers", 30, "--answers-per-worker", 12, "--simulations", 3)
RANK = ("plan", "--rank-mechanisms")


@pytest.mark.nightly
def test_the_table_fits_a_terminal_and_says_why(run):
    words = ("--labels", "a,b,c,d,e,f", "-e", 1, "--accuracy", 0.9)
    truths = ("--label-frequencies", "0.5,0.1,0.1,0.1,0.1,0.1")
    status, output, errors = run(*RANK, *SAME, *words, *truths)
    assert (status, errors) == (0, "")
    lines = output.splitlines()
    ranked = [line for line in lines if not line.startswith("Left out")]
    assert max(map(len, ranked)) <= 80
    assert ranked[0].split() == ["error", "+-", "x", "least", "mechanism"]
    assert "right in 90%" in " ".join(ranked)
    assert any(line.startswith("Left out: two-layer: ") for line in lines)


@pytest.mark.slow
def test_json_names_the_one_that_randomize_takes(run, folder, tmp_path):
    status, output, _ = run(*RANK, *SAME, "--labels", "no,yes", "-e", 1, "--json")
    told = json.loads(output)
    assert status == 0
    assert told["best"] == told["ranking"][0]["mechanism"] == "one-layer"
    reports = tmp_path / "r.parquet"
    status, _, errors = run("randomize", folder, "-m", f"best:{FACTS}", "-e", 1, "-o", reports)
    assert status == 0
    assert errors.count("one-layer has the least error rate at epsilon 1") == 1
    assert qc.read_reports(reports).mechanism.to_dict() == told["mechanism"]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("workers=5", "answers_per_task must be above 0 and at most the number of workers, 5"),
        ("colour=1", "colour"),
        ("workers", "parameters are written name:key=value:key=value"),
        ("epsilon=2", "use --epsilon to set 'epsilon'"),
    ],
    ids=["too few", "unknown", "no value", "elsewhere"],
)
def test_facts_that_cannot_be_are_refused_in_a_line(run, tmp_path, facts, message):
    words = ("--labels", "no,yes", "-o", tmp_path / "r.csv", "-m", f"best:{facts}")
    status, output, errors = run("randomize", tmp_path / "a.csv", *words)
    assert (status, output) == (2, "")
    assert message in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-e", "1,2"), "requires exactly one number for --epsilon; got 2"),
        (("--total-epsilon", "1,2"), "requires exactly one number for --total-epsilon; got 2"),
        (("-e", 1, "--workers", "5,6"), "one number for --people; got 3"),
        (("-e", 1, "--seed", 3), "--seed does not apply to --rank-mechanisms"),
        (("-e", 1, "--least", "total"), "--least does not apply to --rank-mechanisms"),
        (("-e", 1, "--total-epsilon", 1), "use total_epsilon"),
        (("-e", 1, "--worker-sd", 1), "--worker-sd applies only to numbers"),
    ],
)
def test_what_does_not_go_with_a_ranking(run, words, message):
    status, output, errors = run(*RANK, *SAME, "--labels", "no,yes", *words)
    assert (status, output) == (2, "")
    assert message in errors


def test_the_choice_is_made_before_the_answers_are_read(run, tmp_path, monkeypatch):
    order = []
    monkeypatch.setattr(PlainAnswers, "read", lambda *_, **__: order.append("read"))
    domain = qc.Categorical(["no", "yes"])
    ranking = best_mechanism(
        domain=domain, epsilon=1.0, tasks=10, workers=10, answers_per_task=5, draws=3
    )
    monkeypatch.setattr(makers, "ranking_of", lambda *_: (order.append("chosen"), ranking)[1])
    path = tmp_path / "a.csv"
    path.write_text("task,worker,label\nt,a,no\n")
    status, *_ = run(
        "randomize", path, "--labels", "no,yes", "-m", "best", "-o", tmp_path / "r.csv"
    )
    assert status != 0  # there is no table
    assert order == ["chosen", "read"]


def test_a_campaign_tells_its_size_where_the_facts_do_not():
    chosen = BestMechanism(facts={"accuracy": 0.9})
    sized = chosen.for_campaign(tasks=40, workers=30, answers=None)
    assert sized.facts == {"tasks": 40, "workers": 30, "answers_per_task": 30, "accuracy": 0.9}
    assert chosen.for_campaign(tasks=40, workers=30, answers=4).facts["answers_per_task"] == 3
    assert chosen.for_campaign(tasks=40, workers=None, answers=4).facts == {
        "tasks": 40,
        "accuracy": 0.9,
    }
    told = BestMechanism(facts={"workers": 5, "tasks": 7})
    assert told.for_campaign(tasks=40, workers=30, answers=4).facts == {"workers": 5, "tasks": 7}


@pytest.mark.nightly
@pytest.mark.slow
def test_a_campaign_is_made_with_the_best_mechanism_for_its_tasks(run, tmp_path):
    """No server is there: which mechanism is the best one is told all the same."""
    (tmp_path / "t.csv").write_text("id,q\na,A?\nb,B?\nc,C?\n")
    words = ("campaign", "create", "T", "--tasks", tmp_path / "t.csv", "--labels", "no,yes")
    best = ("--max-workers", 20, "-e", 1, "-m", "best:draws=3", "--server", "http://127.0.0.1:9")
    status, output, errors = run(*words, *best)
    assert (status, output) == (2, "")
    assert "one-layer has the least error rate at epsilon 1" in errors
    assert "3 tasks" in " ".join(errors.split())
