import itertools
import json
import math
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd import private_files
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.mechanisms import (
    MatrixFactorization,
    Memo,
    OptimalMechanism,
    TwoLayerRandomizedResponse,
    memo,
)
from quietcrowd.mechanisms.channels import table
from quietcrowd.mechanisms.channels.base import TOTAL
from quietcrowd.mechanisms.channels.noise import laplace_noise
from quietcrowd.mechanisms.memo import MemoScope, _digest
from quietcrowd.mechanisms.randomness import KEY_BYTES, Secret

YES_NO = qc.Categorical(["no", "yes"])
LABELS = qc.Categorical(["a", "b", "c"])
NUMBERS = qc.Interval(low=0, high=10)
TASKS = [f"task {place:02}" for place in range(12)]

MECHANISMS = {
    "labels": qc.RandomizedResponse(domain=LABELS, epsilon=1.0),
    "best channel": OptimalMechanism(domain=LABELS, epsilon=1.0),
    "sets of labels": qc.SubsetSelection(domain=LABELS, epsilon=1.0),
    "labels, NULL": qc.RandomizedResponse(domain=LABELS, epsilon=1.0, missing="category"),
    "drawn flips": TwoLayerRandomizedResponse(domain=LABELS, low=0.1, high=0.5),
    "drawn flips, beta distribution": TwoLayerRandomizedResponse(
        domain=LABELS, low=0.1, high=0.5, distribution="beta", alpha=2, beta=2
    ),
    "drawn losses, NULL": TwoLayerRandomizedResponse(
        domain=LABELS, distribution="epsilon", epsilon=1.0, missing="category"
    ),
    "numbers": qc.LaplaceMechanism(domain=NUMBERS, epsilon=1.0, fill=None),
    "numbers, filled": qc.LaplaceMechanism(domain=NUMBERS, epsilon=1.0),
    "levels, filled": qc.LaplaceMechanism(domain=qc.Ordinal(range(11)), epsilon=1.0),
    "numbers, constant": qc.LaplaceMechanism(domain=NUMBERS, epsilon=1.0, fill=3.0),
    "numbers, bits": qc.LaplaceMechanism(domain=NUMBERS, epsilon=1.0, participation="released"),
}
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)


def opened(path, mechanism=MECHANISMS["labels"], tasks=TASKS, **changes):
    public = {"mechanism": mechanism, "tasks": tasks, "campaign": "drugs", "worker": "ann"}
    return Memo.open(path, **{**public, **changes})


def some_answers(mechanism, places=(0, 3, 4, 11)):
    possible = ["a", "b", "c"] if mechanism.domain == LABELS else [0, 2, 7, 10]
    return {TASKS[place]: possible[place % len(possible)] for place in places}


def sent(reports):
    return reports.to_frame("pyarrow")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ann.memo"


@pytest.mark.grid
@pytest.mark.slow
@every_mechanism
def test_sending_again_is_identical_also_after_reopening(path, mechanism):
    answers = some_answers(mechanism)
    first = opened(path, mechanism).report(answers)
    for _ in range(20):
        assert sent(opened(path, mechanism).report(answers)).equals(sent(first))
    backwards = dict(reversed(answers.items()))
    again = opened(path, mechanism, tasks=TASKS[::-1]).report({**backwards, TASKS[5]: None})
    assert sent(again).equals(sent(first))
    assert not first.simulated


@every_mechanism
def test_editing_back_is_identical_and_leaves_other_tasks_alone(path, mechanism):
    kept = opened(path, mechanism)
    answers = some_answers(mechanism)
    first = sent(kept.report(answers)).to_pylist()
    other = "c" if mechanism.domain == LABELS else 5
    edited = sent(kept.report({**answers, TASKS[3]: other})).to_pylist()
    withdrawn = sent(kept.report({**answers, TASKS[3]: None})).to_pylist()
    assert sent(kept.report(answers)).to_pylist() == first
    unaffected = [row for row in first if row["task"] != TASKS[3]]
    for rows in (edited, withdrawn):
        assert [row for row in rows if row["task"] != TASKS[3]] == unaffected
    assert len(withdrawn) == len(first) - (not mechanism.every_task)


@every_mechanism
def test_reports_are_those_of_the_mechanism(path, mechanism):
    answers = some_answers(mechanism)
    frame = pd.DataFrame({"task": answers.keys(), "worker": "ann", "label": answers.values()})
    table = qc.Answers.from_frame(frame, mechanism.domain, tasks=TASKS, workers=["ann"])
    reports, drawn = opened(path, mechanism).report(answers), mechanism.randomize(table)
    assert sent(reports).schema == sent(drawn).schema
    assert reports.table.values.dtype == drawn.table.values.dtype
    assert sent(reports)["task"].to_pylist() == sent(drawn)["task"].to_pylist()
    assert sent(reports)["worker"].to_pylist() == sent(drawn)["worker"].to_pylist()


@pytest.mark.nightly
def test_reports_follow_the_distribution_of_the_mechanism(tmp_path):
    """Counts of reports lie within 5.5 standard deviations of what the channel says."""
    tasks = list(range(4000))
    mechanism = MECHANISMS["labels, NULL"]
    kept = opened(tmp_path / "memo", mechanism, tasks)
    for code, answer in enumerate(["a", "b", "c", None]):
        values = kept.report(dict.fromkeys(tasks, answer)).table.values
        counts = np.bincount(values, minlength=4)
        expected = mechanism.channel.probabilities[code] * len(tasks)
        assert (abs(counts - expected) < 5.5 * np.sqrt(expected)).all()


@pytest.mark.nightly
@pytest.mark.slow
def test_drawn_weights_are_drawn_once_per_memo(tmp_path):
    mechanism = TwoLayerRandomizedResponse(domain=YES_NO, low=0.0, high=1.0)
    tasks = list(range(400))
    shares = []
    for place in range(12):
        kept = opened(tmp_path / f"memo {place}", mechanism, tasks)
        one, other = (
            (kept.report(dict.fromkeys(tasks, answer)).table.values == code).mean()
            for code, answer in enumerate(["no", "yes"])
        )
        assert abs(one - other) < 5.5 * math.sqrt(0.5 / len(tasks))
        shares.append(one)
    # With one flip probability for all, the spread is 0.025 at most; twelve of their own spread
    # less than 0.05 with a chance below 10^-7.
    assert np.std(shares) > 0.05, "the flip probability is the same for all"


@pytest.mark.slow
def test_numbers_of_different_answers_have_independent_noise(tmp_path):
    """The difference of two reports is not that of the answers; its spread is that of two draws."""
    tasks = list(range(1500))
    mechanism = MECHANISMS["numbers"]
    kept = opened(tmp_path / "memo", mechanism, tasks)
    domain, grid = mechanism.report_domain, mechanism.grid
    three, four = (
        domain.numbers(kept.report(dict.fromkeys(tasks, answer)).table.values)
        for answer in (3.0, 4.0)
    )
    variance = 2 * mechanism.channel.variance
    assert abs((four - three).var() / variance - 1) < 0.3
    assert abs(np.corrcoef(three, four)[0, 1]) < 5.5 / math.sqrt(len(tasks))
    nearly = kept.report(dict.fromkeys(tasks, 3.0 + grid.step / 8)).table.values
    assert np.array_equal(domain.numbers(nearly), three), "the same place of the grid"


def stub_words(monkeypatch, words):
    """Let the word of a label be that of its answer."""
    monkeypatch.setattr(Secret, "word", lambda _, *label: words[int(label[2])])


def intervals(table):
    """Return a word of each interval in which all reports are fixed, and its length."""
    edges = {0, TOTAL, *(int(edge) for row in table.weights for edge in np.cumsum(row))}
    return [(low, high - low) for low, high in itertools.pairwise(sorted(edges))]


@pytest.mark.slow
@pytest.mark.parametrize("null", [None, "category"])
def test_twenty_resubmissions_lose_exactly_what_one_report_loses(path, monkeypatch, null):
    """The joint distribution of 20 reports, by enumeration of all random words."""
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0, missing=null)
    kept = opened(path, mechanism, tasks=["drug"])
    possible = ["no", "yes", None] if null else ["no", "yes"]
    distributions = []
    for answer in possible:
        distribution = {}
        for word, length in intervals(mechanism.channel):
            stub_words(monkeypatch, [word] * 3)
            twenty = tuple(int(kept.report({"drug": answer}).table.values[0]) for _ in range(20))
            distribution[twenty] = distribution.get(twenty, 0) + length
        distributions.append(distribution)
    assert all(
        len(distribution) == len(possible) and sum(distribution.values()) == TOTAL
        for distribution in distributions
    )
    worst = max(
        Fraction(one[seen], other[seen])
        for one in distributions
        for other in distributions
        for seen in one
    )
    assert math.log(worst) == pytest.approx(mechanism.channel.epsilon, abs=1e-12)


def test_an_edit_loses_exactly_what_two_reports_lose(path, monkeypatch):
    """Yes, no, yes against no, yes, no, by enumeration of the words of both answers."""
    mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0)
    kept = opened(path, mechanism, tasks=["drug"])
    distributions = []
    for history in (("yes", "no", "yes"), ("no", "yes", "no")):
        distribution = {}
        for (first, width), (second, height) in itertools.product(
            intervals(mechanism.channel), repeat=2
        ):
            stub_words(monkeypatch, [first, second])
            seen = tuple(int(kept.report({"drug": answer}).table.values[0]) for answer in history)
            distribution[seen] = distribution.get(seen, 0) + width * height
        distributions.append(distribution)
    one, other = distributions
    assert one.keys() == other.keys()
    worst = max(Fraction(one[seen], other[seen]) for seen in one)
    assert math.log(worst) == pytest.approx(2 * mechanism.channel.epsilon, abs=1e-12)


@pytest.mark.nightly
@pytest.mark.slow
@given(
    answers=st.dictionaries(st.sampled_from(TASKS), st.one_of(st.none(), st.floats(0, 10))),
    key=st.binary(min_size=32, max_size=32),
)
def test_reports_are_a_function_of_key_and_answers(tmp_path_factory, answers, key):
    mechanism = MECHANISMS["numbers, bits"]
    path = tmp_path_factory.mktemp("memo") / "memo"
    kept = opened(path, mechanism)
    path.write_bytes(kept.scope.content(key))
    one, other = (opened(path, mechanism) for _ in range(2))
    reports = one.report(answers)
    assert sent(reports).equals(sent(other.report(answers)))
    assert len(reports) == len(TASKS)
    assert mechanism.report_domain.holds(reports.table.values)


def test_nothing_is_gone_through_that_depends_on_the_answers(path, monkeypatch):
    """The labels asked for, and how many bytes, are as many and in the same order of tasks."""
    mechanism = MECHANISMS["numbers, bits"]
    kept = opened(path, mechanism)
    asked = []
    give = Secret.give

    def spy(self, label, size):
        asked.append((*label[:2], len(json.dumps(label)), size))
        return give(self, label, size)

    monkeypatch.setattr(Secret, "give", spy)
    seen = []
    for answers in ({}, some_answers(mechanism), dict.fromkeys(TASKS, 5)):
        asked.clear()
        kept.report(answers)
        seen.append(list(asked))
    assert seen[0] == seen[1] == seen[2]


def test_the_file_is_of_the_same_size_for_every_key_and_holds_no_answer(tmp_path):
    sizes = set()
    for place in range(5):
        path = tmp_path / f"{place}.memo"
        kept = opened(path)
        before = path.read_bytes()
        kept.report({TASKS[0]: "c"})
        assert path.read_bytes() == before
        sizes.add(len(before))
    assert len(sizes) == 1


@pytest.mark.skipif(os.name != "posix", reason="rights are those of the folder")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_only_the_owner_can_read_the_file(path, umask):
    before = os.umask(umask)
    try:
        opened(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="rights are those of the folder")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o777])
def test_a_file_that_others_can_reach_is_refused(path, mode):
    opened(path)
    path.chmod(mode)
    with pytest.raises(FormatError, match=rf"mode {mode:04o}.*chmod 600"):
        opened(path)
    path.chmod(0o600)
    opened(path)


def test_where_rights_are_not_posix_nothing_fails(path, monkeypatch):
    monkeypatch.setattr(private_files, "sys", SimpleNamespace(platform="win32"))
    first = opened(path).report({TASKS[0]: "a"})
    path.chmod(0o644)
    assert sent(opened(path).report({TASKS[0]: "a"})).equals(sent(first))
    opened(path).destroy()


def no_links(*_, **__):
    raise OSError("no links here")


def test_a_file_system_without_links_will_do(path, monkeypatch):
    monkeypatch.setattr(os, "link", no_links)
    first = opened(path).report({TASKS[0]: "a"})
    assert not private_files.create_private(path, b"another")
    assert sent(opened(path).report({TASKS[0]: "a"})).equals(sent(first))
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_whoever_comes_second_reads_what_the_first_wrote(path, monkeypatch):
    draw = Secret.draw

    def slowly(context):
        monkeypatch.setattr(Secret, "draw", draw)
        opened(path)
        return draw(context)

    monkeypatch.setattr(Secret, "draw", slowly)
    second = opened(path)
    answers = dict.fromkeys(TASKS, "a")
    assert sent(second.report(answers)).equals(sent(opened(path).report(answers)))
    assert path.read_bytes() == second.scope.content(second._secret.key)


def interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["fsync", "link"])
def test_an_interruption_leaves_no_file(path, monkeypatch, step):
    monkeypatch.setattr(os, step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        opened(path)
    assert not list(path.parent.iterdir())


@pytest.mark.nightly
@pytest.mark.slow
def test_another_process_sends_the_same(program, path):
    first = opened(path, MECHANISMS["numbers"]).report({TASKS[0]: 4})
    code = (
        "import sys, quietcrowd as qc, quietcrowd.mechanisms as other;"
        "m = qc.LaplaceMechanism(domain=qc.Interval(low=0, high=10), epsilon=1.0, fill=None);"
        "k = other.Memo.open(sys.argv[1], mechanism=m, tasks=sys.argv[2:], campaign='drugs',"
        " worker='ann', create=False);"
        "print(k.report({sys.argv[2]: 4}).table.values[0]);"
        "sys.exit('quietcrowd._core' in sys.modules)"
    )
    _, output, _ = program(sys.executable, "-c", code, path, *TASKS).finished(check=True)
    assert int(output) == first.table.values[0]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda _: b"",
        lambda content: content[:-1] + b" ",
        lambda content: json.dumps(json.loads(content)).encode(),
        lambda content: b"\xff" + content,
        lambda _: b"[" * 100_000,
        lambda _: b"[]",
        lambda content: content.replace(b'"check"', b'"other"'),
        lambda content: content.replace(b'"key"', b'"yek"'),
        lambda content: content.replace(b"drugs", b"drags"),
    ],
)
def test_damaged_files_are_refused(path, damage):
    opened(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FormatError, match=r"ann\.memo is damaged.*Restore it"):
        opened(path)


@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_no_flipped_bit_goes_unnoticed(tmp_path_factory, place, bit):
    path = tmp_path_factory.mktemp("memo") / "memo"
    kept = opened(path)
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 1 << bit
    path.write_bytes(content)
    try:
        again = opened(path)
    except FormatError:
        return
    assert again._secret.key == kept._secret.key, "a changed key would be fresh noise"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"campaign": "films"}, "another campaign: 'drugs', not 'films'"),
        ({"worker": "bob"}, "another worker: 'ann', not 'bob'"),
        ({"worker": 7}, "another worker: 'ann', not 7"),
        ({"tasks": TASKS[1:]}, "another tasks: '12 of SHA-256 .*', not '11 of SHA-256"),
        (
            {"mechanism": qc.RandomizedResponse(domain=LABELS, epsilon=2.0)},
            "another mechanism: {'epsilon': 1.0, .*}, not {'epsilon': 2.0,",
        ),
    ],
)
def test_the_memo_of_something_else_is_refused(path, changes, message):
    opened(path)
    with pytest.raises(FormatError, match=message):
        opened(path, **changes)


def test_another_version_is_refused(path):
    opened(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 2}))
    with pytest.raises(FormatError, match="version 2"):
        opened(path)


def test_a_key_that_is_copied_gives_other_numbers_elsewhere(tmp_path):
    kept, other = (opened(tmp_path / name, campaign=name) for name in ("drugs", "films"))
    other.path.write_bytes(other.scope.content(kept._secret.key))
    answers = dict.fromkeys(TASKS, "a")
    copied = opened(other.path, campaign="films")
    words = [memo._secret.word("report", TASKS[0], "+00000000") for memo in (kept, copied)]
    assert words[0] != words[1]
    assert len(copied.report(answers)) == len(TASKS)


def test_destroying_overwrites_removes_and_ends(path, monkeypatch):
    kept = opened(path)
    written = []
    unlink = type(path).unlink
    monkeypatch.setattr(
        type(path),
        "unlink",
        lambda self, **_: (written.append(self.read_bytes()), unlink(self))[-1],
    )
    key = bytes(kept._secret.key)
    kept.destroy()
    assert not path.exists()
    assert written == [bytes(len(written[0]))]
    assert key.hex() not in repr(kept) + repr(kept._secret)
    kept.destroy()
    with pytest.raises(ParameterError, match="was destroyed"):
        kept.report({})
    with pytest.raises(FileNotFoundError):
        opened(path, create=False)


def test_destroying_what_is_gone_or_replaced(path):
    kept = opened(path)
    path.unlink()
    kept.destroy()
    kept = opened(path)
    path.write_text("something of value")
    with pytest.raises(FormatError, match="It was not changed"):
        kept.destroy()
    assert path.read_text() == "something of value"


def test_the_key_is_not_printed(path):
    kept = opened(path)
    assert kept._secret.key.hex() not in repr(kept) + repr(kept._secret)
    with pytest.raises(ValueError, match="was forgotten"):
        kept._secret.forget() or kept._secret.word("report")


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"task 99": "a"}, "task 'task 99' is not one of the 12 tasks of campaign 'drugs'"),
        ({TASKS[0]: "d"}, "task 'task 00': the answer is outside the domain 'a', 'b'"),
        ({TASKS[0]: float("nan")}, "the answer is outside the domain"),
        ({TASKS[0]: object()}, "is outside the domain"),
        ({TASKS[0]: "\ud800"}, "is outside the domain"),
        ([("task 00", "a")], "must map tasks to answers"),
    ],
)
def test_wrong_answers_are_refused_before_anything_is_drawn(path, monkeypatch, answers, message):
    kept = opened(path)
    monkeypatch.setattr(Secret, "give", None)
    with pytest.raises(AnswerError, match=message):
        kept.report(answers)


def test_numbers_outside_of_the_domain_are_refused(path):
    kept = opened(path, MECHANISMS["numbers"])
    for answer in (-0.1, 10.1, math.inf, math.nan, "many"):
        with pytest.raises(AnswerError, match="outside the domain"):
            kept.report({TASKS[0]: answer})


def test_tasks_match_by_what_they_print_as(path):
    kept = opened(path, tasks=[7, 8])
    assert sent(kept.report({"7": "a"})).equals(sent(kept.report({np.int64(7): "a"})))
    with pytest.raises(AnswerError, match="the same name as text"):
        kept.report({7: "a", "7": "b"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": []}, "at least one"),
        ({"tasks": ["a", "a"]}, "distinct strings"),
        ({"tasks": ["a", 1]}, "distinct strings or distinct whole numbers"),
        ({"tasks": "abc"}, "tasks must be a list"),
        ({"tasks": [1.5]}, "a task must be a string or a 64-bit whole number"),
        ({"tasks": [2**63]}, "a task must be a string or a 64-bit whole number"),
        ({"worker": True}, "worker must be a string or a 64-bit whole number"),
        ({"campaign": ""}, "campaign must be a name"),
        ({"mechanism": "one-layer"}, "mechanism must be a Mechanism"),
        (
            {"mechanism": MatrixFactorization(domain=qc.Ordinal(range(5)), epsilon=1.0)},
            "'matrix-factorization' cannot be stored in a memo: .* use LaplaceMechanism",
        ),
    ],
)
def test_parameters_are_checked_before_a_file_is_made(path, changes, message):
    with pytest.raises(ParameterError, match=message):
        opened(path, **changes)
    assert not path.exists()


def test_more_tasks_than_a_block(path, monkeypatch):
    answers = dict.fromkeys(TASKS, "b")
    whole = opened(path).report(answers)
    monkeypatch.setattr(table, "BLOCK", 5)
    assert sent(opened(path).report(answers)).equals(sent(whole))


def test_the_module_says_how_often_fresh_reports_give_an_answer_away():
    keep = math.e / (1 + math.e)
    right = sum(
        math.comb(21, agree) * keep**agree * (1 - keep) ** (21 - agree) for agree in range(11, 22)
    )
    assert f"{right:.1%}".replace("%", " %") in memo.__doc__


def test_who_opened_a_memo_before_it_was_destroyed_sends_nothing_more(path):
    one, other = opened(path), opened(path)
    first = one.report({TASKS[0]: "a"})
    assert sent(other.report({TASKS[0]: "a"})).equals(sent(first))
    one.destroy()
    for _ in range(2):
        with pytest.raises(ParameterError, match="was destroyed, or its file is missing"):
            other.report({TASKS[0]: "a"})
    assert other._secret.forgotten
    other.destroy()


def test_who_opened_a_memo_before_it_was_overwritten_brings_that_to_its_end(path):
    one, other = opened(path), opened(path)
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(
        FormatError, match="only zeros, because destroying the memo was interrupted"
    ):
        opened(path)
    with pytest.raises(ParameterError, match="was destroyed"):
        other.report({})
    assert other._secret.forgotten
    one.destroy()
    assert not path.exists()


def test_who_opened_a_memo_before_it_was_replaced_sends_nothing_more(path, monkeypatch):
    kept = opened(path)
    path.unlink()
    opened(path)
    monkeypatch.setattr(Secret, "give", None)
    with pytest.raises(FormatError, match="was replaced by another memo"):
        kept.report({TASKS[0]: "a"})
    with pytest.raises(FormatError, match="It was not changed"):
        kept.destroy()
    path.chmod(0o644)
    if os.name == "posix":
        with pytest.raises(FormatError, match="chmod 600"):
            kept.report({TASKS[0]: "a"})


def test_a_memo_that_cannot_be_destroyed_is_not_forgotten(path, monkeypatch):
    kept = opened(path)
    content = path.read_bytes()

    def refuse(*_):
        raise PermissionError("read-only")

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        with pytest.raises(PermissionError):
            kept.destroy()
    assert path.read_bytes() == content
    kept.destroy()
    assert not path.exists()


def test_the_place_of_a_memo_stays_where_programs_go_elsewhere(path, monkeypatch, tmp_path):
    monkeypatch.chdir(path.parent)
    kept = opened(path.name)
    assert kept.path == path
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    kept.report({TASKS[0]: "a"})
    kept.destroy()
    assert not path.exists()


@pytest.mark.parametrize("links", [True, False])
def test_all_who_come_at_once_have_the_same_key(path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    start = threading.Barrier(8)

    def come(_):
        start.wait()
        try:
            return bytes(opened(path)._secret.key)
        except FormatError:
            assert not links, "without links the file of the first may be empty yet"

    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(come, range(8)))
    assert len(keys - {None}) == 1
    assert [file.name for file in path.parent.iterdir()] == [path.name]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text()
    | st.binary() | st.just("\ud800") | st.just(b"secret") | st.dates() | st.fractions(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)  # fmt: skip


@pytest.mark.nightly
@pytest.mark.slow
@given(answer=JUNK, mechanism=st.sampled_from([MECHANISMS["labels"], MECHANISMS["numbers"]]))
def test_junk_is_a_report_or_an_error_that_does_not_tell_it(tmp_path_factory, answer, mechanism):
    kept = opened(tmp_path_factory.mktemp("memo") / "memo", mechanism)
    told = None
    try:
        reports = kept.report({TASKS[0]: answer})
    except AnswerError as error:
        told = error
    if told is None:
        assert len(reports) == (answer is not None)
        return
    assert told.__context__ is None
    assert str(told) == (
        f"task 'task 00': the answer is outside the domain {mechanism.domain.describe()}. "
        "Give an answer of the domain, or None for no answer."
    )


def test_the_delta_of_numbers_is_the_one_that_is_derived():
    """Two numbers of distance 2^-183 each; the same figures in code, docstring and pages."""
    root = Path(__file__).parents[2]
    derived = (root / "research" / "docs" / "theory" / "memoisation.md").read_text()
    assert "noise is within $2^{-183}$" in derived
    assert "by less than 2^-183 in total variation" in " ".join(laplace_noise.__doc__.split())
    assert "$\\tau = 2^{-182}$" in derived
    assert "$\\delta = (1 + e^{\\varepsilon})\\, 2^{-182}$" in derived
    assert "delta = (1 + e^epsilon) 2^-182 for each report, below 2^-180" in " ".join(
        Memo.__doc__.split()
    )
    assert (1 + math.e) * 2.0**-182 < 2.0**-180 < (1 + math.e) * 2.0**-181
    assert "below $2^{-180}$ at ε = 1" in " ".join(
        (root / "research" / "docs" / "losses.md").read_text().split()
    )


PATH = Path("ann.memo")
KEY = bytes(range(KEY_BYTES))
PUBLIC = {
    "mechanism": qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.0),
    "campaign": "drugs",
    "worker": "ann",
    "tasks": ["A", "B"],
}
SCOPE = MemoScope(**PUBLIC)


def with_key(key):
    """Return a file that is whole but for its key."""
    body = {**SCOPE.to_dict(), "key": key}
    return json.dumps({**body, "check": _digest(body)}, indent=1).encode() + b"\n"


def test_a_key_is_read_as_it_was_written():
    assert SCOPE.key_in(SCOPE.content(KEY), PATH) == KEY
    assert with_key(KEY.hex()) == SCOPE.content(KEY)


@pytest.mark.parametrize(
    "key",
    [
        KEY.hex().upper(),
        KEY.hex()[:-2],
        KEY.hex()[:-2] + "  ",
        KEY.hex()[:-2] + "\n\n",
        KEY.hex() + "\n",
        KEY.hex() + "00",
        "0x" + KEY.hex()[2:],
        "\u0663" * 64,
        "g" * 64,
        ["0"] * 64,
        list(KEY) * 2,
        None,
        0,
        {},
        "",
    ],
)
def test_a_key_is_64_lower_case_digits_and_is_never_told(key):
    with pytest.raises(FormatError, match=r"^ann\.memo is damaged") as caught:
        SCOPE.key_in(with_key(key), PATH)
    assert str(key) in ("", "0", "{}", "None") or str(key)[:16] not in str(caught.value)
    assert KEY.hex()[:16] not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content + b"\n",
        lambda content: content.replace(b"\n", b"\r\n"),
        lambda content: content.replace(b'"version": 1', b'"version": true'),
        lambda content: content.replace(b'"version": 1', b'"version": 2,\n "version": 1'),
        lambda content: json.dumps(json.loads(content)).encode(),
    ],
)
def test_what_reads_alike_but_is_not_what_was_written_is_damaged(change):
    """Such a file could be read, but would not be recognised when it is to be destroyed."""
    with pytest.raises(FormatError, match="is damaged"):
        SCOPE.key_in(change(SCOPE.content(KEY)), PATH)


def test_messages_about_another_scope_do_not_tell_the_key():
    other = MemoScope(**{**PUBLIC, "campaign": "films"})
    with pytest.raises(FormatError, match="another campaign: 'films', not 'drugs'") as caught:
        SCOPE.key_in(other.content(KEY), PATH)
    assert KEY.hex()[:8] not in str(caught.value)


def test_zeros_are_a_memo_that_was_destroyed():
    with pytest.raises(
        FormatError, match=r"only zeros, because destroying the memo was interrupted.* Remove"
    ):
        SCOPE.key_in(bytes(len(SCOPE.content(KEY))), PATH)


@pytest.mark.parametrize(
    "changes", [{"campaign": "\ud800"}, {"worker": "ann\udfff"}, {"tasks": ["A", "\udcff"]}]
)
def test_ids_are_texts_that_files_and_reports_can_hold(changes):
    with pytest.raises(ParameterError, match=r"must be valid UTF-8; got '.*ud"):
        MemoScope(**{**PUBLIC, **changes})
