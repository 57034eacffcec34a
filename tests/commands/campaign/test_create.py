"""``quietcrowd campaign create``: the total privacy loss of a person, and the predicted result."""

import re
import shlex

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.mechanisms import Mechanism

NO_SERVER = ("--server", "http://127.0.0.1:9", "--key", "qck_none")


@pytest.fixture
def create(run, tmp_path):
    """Return a way to run the command, for a number of questions."""

    def command(tasks, *words, labels="no,yes", answers=()):
        rows = "".join(f"q{place},{place}\n" for place in range(tasks))
        (tmp_path / "tasks.csv").write_text(f"id,question\n{rows}")
        made = ("Birds", "--tasks", tmp_path / "tasks.csv", *(answers or ("--labels", labels)))
        status, output, errors = run("campaign", "create", *made, *words)
        return status, output.strip(), " ".join(errors.split())

    return command


@pytest.mark.grid
@pytest.mark.parametrize(
    ("tasks", "words", "total", "answers"),
    [
        (1, (), 2.2, 1),
        (2, (), 4.4, 2),
        (40, (), 5.0, 40),
        (40, ("--total-epsilon", 3, "--answers-per-worker", 7), 3.0, 7),
        (40, ("--total-epsilon", 3, "--max-answers", 50), 3.0, 40),
        (9, ("--total-epsilon", 3, "-m", "two-layer"), 3.0, 9),
        (9, ("--total-epsilon", 3, "-m", "best:draws=3"), 3.0, 9),
    ],
)
def test_all_answers_of_a_person_lose_at_most_the_total(
    create, at_desk, tasks, words, total, answers
):
    status, made, errors = create(tasks, *words)
    assert status == 0, errors
    draft = at_desk.client.get(f"/campaigns/{made}").json()
    mechanism = Mechanism.from_dict(draft["mechanism"])
    loss = mechanism.guarantee(answers=answers, tasks=tasks).total_epsilon
    assert 0.99 * total < loss <= total
    assert f"The total privacy loss of a person is at most ε = {loss:.3g}" in errors.replace(
        "0000", ""
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--total-epsilon", 1, "-e", 1), "use --total-epsilon, the privacy loss of all answers"),
        (("--total-epsilon", 0), "epsilon must be a finite number above 0; got 0"),
        (("--total-epsilon", -1), "epsilon must be a finite number above 0; got -1"),
        (("--total-epsilon", "nan"), "epsilon must be a finite number above 0; got nan"),
        (("--total-epsilon", "inf", "-m", "best"), "must be a finite number above 0; got inf"),
        (("--total-epsilon", "much"), "Input should be a valid number"),
        (("--people", 0), "greater than or equal to 1"),
        (("--answers-per-worker", 9), "9"),
        (("-m", "laplace"), "domain must be"),
    ],
)
def test_what_is_wrong_is_one_sentence(create, words, told):
    status, output, errors = create(3, *words, *NO_SERVER)
    assert (status, output) == (2, "")
    assert told in errors


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(total=st.one_of(st.floats(max_value=0), st.text(alphabet="-+.e19nx", min_size=1)))
def test_no_bad_total_reaches_a_server(create, at_desk, total):
    try:
        wrong = not 0 < float(total) <= 32  # two answers, of at most 16 each
    except ValueError:
        wrong = True
    before = at_desk.client.get("/campaigns").json()["items"]
    status, _, errors = create(2, f"--total-epsilon={total}")
    assert (status == 2) == wrong, errors
    assert not wrong or at_desk.client.get("/campaigns").json()["items"] == before


def test_without_a_number_of_people_the_result_is_left_open(create):
    _, _, errors = create(20, "--answers-per-worker", 3, *NO_SERVER)
    assert "The quality of the result depends on the number of people: set --people." in errors
    assert "A good result takes about" in errors
    assert "cannot be reached" in errors
    _, _, errors = create(20, "--total-epsilon", 0.001, *NO_SERVER)
    assert "set --people. " in errors
    assert "in theory" not in errors


def test_a_good_result_is_predicted_before_anything_is_sent(create):
    status, _, errors = create(20, "--max-workers", 90, "--answers-per-worker", 3, *NO_SERVER)
    assert status == 2
    assert "With 90 people, 20 questions (3 for each person) and a total of ε = 5" in errors
    assert "This is better than guessing" in errors
    assert errors.index("better than guessing") < errors.index("cannot be reached")


@pytest.mark.nightly
def test_a_guess_is_refused_and_each_way_out_creates_the_campaign(create, run, at_desk):
    status, output, errors = create(30, "--people", 8, "--max-answers", 30)
    assert (status, output) == (2, "")
    assert "This is as good as guessing. Ways to a better result:" in errors
    assert "no campaign was created" in errors
    assert at_desk.key not in errors
    assert at_desk.client.get("/campaigns").json()["items"] == []
    commands = [f"quietcrowd {one}" for one in errors.split("quietcrowd ")[1:]]
    lines = [one.split(" - ")[0].split(" quietcrowd:")[0] for one in commands[:3]]
    for line in lines:
        status, _, told = run(*shlex.split(line)[1:])
        assert status == 0, told
        assert "This is better than guessing" in " ".join(told.split()), line
    assert len(at_desk.client.get("/campaigns").json()["items"]) == 3


def test_a_survey_is_predicted_with_its_precision(create, at_desk):
    words = ("--goal", "shares", "--total-epsilon", 5)
    status, output, errors = create(12, *words, "--people", 50)
    assert (status, output) == (2, "")
    assert "each share will be known to about ± 50 points (95 %)" in errors
    assert "This is as good as not asking. Ways to a better result: - More people (" in errors
    assert "its result would be useless: As good as not asking. Use one of" in errors
    status, made, errors = create(12, *words, "--people", 200, "--answers-per-worker", 2)
    assert status == 0
    assert "This is rough: more than ± 15 points. Ways to a better result, in another" in errors
    assert at_desk.client.get(f"/campaigns/{made}").json()["goal"] == "shares"
    status, _, errors = create(12, *words, "--people", 400, "--answers-per-worker", 2)
    assert status == 0
    assert "This is usable." in errors
    assert "Ways to" not in errors
    assert (
        "A good result takes about 340 in theory"
        in create(12, *words, "--answers-per-worker", 2)[2]
    )


@pytest.mark.slow
def test_a_guess_is_created_anyway(create, at_desk):
    status, made, errors = create(30, "--people", 8, "--anyway")
    assert status == 0
    assert "This is as good as guessing." in errors
    assert "Ways to" not in errors
    assert at_desk.client.get(f"/campaigns/{made}").status_code == 200


def test_what_would_never_be_shown_is_not_created(create):
    status, output, errors = create(2, "--people", 4, *NO_SERVER)
    assert (status, output) == (2, "")
    assert "--people 4 is below --min-batch 5, so no result would ever be shown" in errors
    status, output, errors = create(2, "--people", 4, "--anyway", *NO_SERVER)
    assert (status, output) == (2, "")
    assert "With 4 people, no result is shown: --min-batch is 5." in errors
    assert "better than guessing" not in errors
    assert "cannot be reached" in errors
    _, _, errors = create(90, "--people", 4, "--min-batch", 4, "--anyway", *NO_SERVER)
    assert "With 4 people, 90 questions" in errors


@pytest.mark.nightly
def test_numbers_are_predicted_and_sketches_are_created_unpredicted(create, run, tmp_path):
    (tmp_path / "n.csv").write_text("id,q\na,A?\nb,B?\n")
    words = ("campaign", "create", "T", "--tasks", tmp_path / "n.csv", "--between", "0,10")
    _, _, errors = run(*words, "--people", 30, "-m", "piecewise", *NO_SERVER)
    assert "a result will be off by about" in " ".join(errors.split())
    _, _, errors = run(*words, "--people", 5, "-m", "matrix-factorization", *NO_SERVER)
    assert "The result cannot be predicted: " in " ".join(errors.split())
    assert "domain must have 2 to" in create(3, labels="no")[2]


def test_an_expert_can_set_the_loss_of_an_answer(create, at_desk):
    made = create(3, "-e", 1.5)[1]
    held = at_desk.client.get(f"/campaigns/{made}").json()["mechanism"]
    assert (
        held == qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.5).to_dict()
    )


OPTIONS = """id,question,options
q1,Which animal is it?,cat|dog
q2,Which tree is it?,"oak, elm, fir"
q3,Which fruit is it?,"[""fig"", ""sloe""]"
"""


@pytest.fixture
def create_options(run, tmp_path):
    """Return a way to run the command with a file of tasks with options."""

    def command(*words, text=OPTIONS, name="tasks.csv"):
        (tmp_path / name).write_text(text)
        made = ("Nature", "--tasks", tmp_path / name, *words)
        status, output, errors = run("campaign", "create", *made)
        return status, output.strip(), " ".join(errors.split())

    return command


@pytest.mark.nightly
def test_labels_are_the_options_of_all_tasks(create_options, at_desk):
    status, made, errors = create_options("--total-epsilon", 9, "--people", 60)
    assert status == 0, errors
    assert "The prediction is for tasks with 3 options each." in errors
    assert "workers see: question, options" in errors
    draft = at_desk.client.get(f"/campaigns/{made}").json()
    mechanism = Mechanism.from_dict(draft["mechanism"])
    assert mechanism.option_counts == (2, 3)
    assert mechanism.domain.labels == ("cat", "dog", "oak", "elm", "fir", "fig", "sloe")
    loss = mechanism.guarantee(answers=3).total_epsilon
    assert 0.99 * 9 < loss <= 9
    items = at_desk.client.get(f"/campaigns/{made}/tasks").json()["items"]
    assert [one["data"]["options"] for one in items] == [
        ["cat", "dog"],
        ["oak", "elm", "fir"],
        ["fig", "sloe"],
    ]


def test_labels_may_name_more_than_the_options(create_options, at_desk):
    lines = '{"task": "a", "data": {"q": "?", "options": ["cat", "dog"]}}\n'
    words = ("--labels", "dog,cat,cow", "--anyway")
    status, made, errors = create_options(*words, text=lines, name="tasks.jsonl")
    assert status == 0, errors
    mechanism = at_desk.client.get(f"/campaigns/{made}").json()["mechanism"]
    assert mechanism["domain"]["labels"] == ["dog", "cat", "cow"]
    assert mechanism["option_counts"] == [2]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--labels", "cat,dog"), "row 3: an option is not one of the campaign's labels"),
        (("--between", "0,1"), "row 2: options are labels, but the answers"),
        (("-m", "optimal"), "OptimalMechanism does not randomize among the options"),
        (("-m", "two-layer"), "does not randomize among the options"),
        (
            ("--assign", "adaptive", "--answers-per-worker", 2),
            "Assign tasks with their own options",
        ),
        (("--method", "dawid-skene"), "dawid-skene does not read options per task"),
    ],
)
def test_what_does_not_suit_options_is_one_sentence(create_options, at_desk, words, told):
    status, _, errors = create_options("--total-epsilon", 9, *words)
    assert status == 2
    assert told in errors
    assert at_desk.client.get("/campaigns").json()["items"] == []


def test_an_unreadable_column_of_options_names_its_row(create_options):
    status, _, errors = create_options(*NO_SERVER, text="id,options\na,cat|dog\nb,cat\n")
    assert status == 2
    assert "tasks.csv: row 3: options must be 2 to 64 different answers" in errors
    assert "rename it" in errors


ROUNDS = ("--rounds", 30, "--first", "2126-12-01", "--window", 7)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--menu", "1:70,4:30", "--total-epsilon", 2), "use --menu, or --total-epsilon"),
        (("--menu", "1:70,4:20"), "must add up to 100; got 90"),
        (("--menu", "1=70"), "--menu must be total losses with percentages"),
        (("--menu", "1:50,4:50", "-m", "best"), "name another mechanism"),
        (("--first", "2126-12-01"), "--first requires --rounds"),
        (("--window", 7), "--window requires --rounds"),
        (("--rounds", 30), "rounds need a beginning"),
        (("--rounds", 3, "--first", "soon"), "--first must be a time"),
        ((*ROUNDS, "--every", "1 day"), "--every must be a number of minutes"),
        ((*ROUNDS, "--step", 3), "--window 7 must be at most --step 3"),
        ((*ROUNDS, "--window", 60), "and --step at most --rounds 30"),
        ((*ROUNDS, "--grace", "2d"), "the length of a round, 1 day; got 2 days"),
        ((*ROUNDS, "--first", "2020-02-02"), "--first 2020-02-02 is over"),
        ((*ROUNDS, "--min-batch", 1), "a --min-batch of at least 2"),
    ],
)
def test_what_is_wrong_with_rounds_or_a_menu_is_one_sentence(create, words, told):
    status, output, errors = create(3, *words, *NO_SERVER)
    assert (status, output) == (2, "")
    assert told in errors


def test_rounds_and_a_menu_are_created_with_their_losses_and_the_expected_error(create, at_desk):
    words = ("--menu", "3:70,9:30", "--people", 700, "--answers-per-worker", 3, *ROUNDS)
    status, made, errors = create(5, *words)
    assert status == 0, errors
    assert "70% of the people is at most ε = 3" in errors
    assert "in any 7 rounds in a row" in errors
    assert "in all 30 rounds, of which a person answers at most 5" in errors
    assert "one person in 7, about 100 people. The prediction is for one round" in errors
    assert "a total of at most ε = 9 per person" in errors
    assert "A round is shown 6 hours after its end, if at least 5 workers" in errors
    draft = at_desk.client.get(f"/campaigns/{made}").json()
    assert [entry["share"] for entry in draft["menu"]] == [0.7, 0.3]
    assert draft["expected"]["error"] < draft["expected"]["guess"] / 2
    rounds = draft["rounds"]
    assert (rounds["first"], rounds["length"]) == ("2126-12-01T00:00:00Z", 86_400)
    assert (rounds["window"], rounds["step"], rounds["grace"]) == (7, 7, 21_600)
    assert draft["losses"] == pytest.approx(
        {"round": 9, "window": 9, "campaign": 45, "fact": 9}, rel=1e-6
    )


def test_by_budget_the_total_is_that_of_a_window(create, at_desk):
    words = ("--total-epsilon", 7, "--people", 500, "--divide", "budget", "--anyway", *ROUNDS)
    status, made, errors = create(1, *words)
    assert status == 0, errors
    draft = at_desk.client.get(f"/campaigns/{made}").json()
    losses = draft["losses"]
    assert losses == pytest.approx({"round": 1, "window": 7, "campaign": 30, "fact": 1}, rel=1e-6)


def test_too_few_people_in_each_round_are_refused(create):
    words = ("--total-epsilon", 5, "--people", 28, *ROUNDS)
    status, _, errors = create(1, *words, *NO_SERVER)
    assert status == 2
    assert "about 4 people." in errors
    assert "--people 28, about 4 in each round, is below --min-batch 5" in errors


def test_more_people_for_all_rounds_make_a_useless_menu_good(create):
    words = ("--menu", "2:70,8:30", "--people", 42, "--goal", "shares", *ROUNDS)
    status, _, errors = create(3, *words, *NO_SERVER)
    assert status == 2, errors
    assert "about 6 people." in errors
    (people,) = re.findall(r"--people (\d+) ", errors)
    assert f"- More people ({int(people):,} people, {int(people) // 7:,} in each round)" in errors
    assert int(people) % 7 == 0


def test_a_menu_of_numbers_names_mechanisms_that_fit(create):
    words = ("--menu", "1:70,4:30", "-m", "laplace", *NO_SERVER)
    status, _, errors = create(2, *words, answers=("--between", "0,10"))
    assert status == 2
    assert "for numbers piecewise or laplace:fill=none." in errors


def test_numbers_need_no_name_of_a_mechanism(create, at_desk):
    status, made, errors = create(2, "--people", 200, answers=("--between", "0,10"))
    assert status == 0, errors
    mechanism = at_desk.client.get(f"/campaigns/{made}").json()["mechanism"]
    assert (mechanism["mechanism"], mechanism["fill"]) == ("laplace", None)
