"""Which files of tasks are refused, as they look like answers, and which are not."""

import pytest

from quietcrowd import Categorical, Interval, Ordinal
from quietcrowd.campaign.terms.task_checks import check_no_answers
from quietcrowd.campaign.terms.tasks import READERS
from quietcrowd.exceptions import FormatError

BIRDS = Categorical(["bird", "plane"])


def check(table, domain=BIRDS, kind="text/csv", **options):
    check_no_answers(domain, list(READERS[kind](table.encode())), **options)


CROSSED = "".join(f"{who},{what},{who in what}\n" for who in "abc" for what in ("ab", "bc", "ca"))
NUMBERED = "".join(f"{place},{row}\n" for place, row in enumerate(CROSSED.split()))


@pytest.mark.parametrize(
    ("table", "domain", "told"),
    [
        ("picture,Rater ID\np1,secret\n", BIRDS, "row 2: its column raterid identifies"),
        (
            "picture,completed_by_\np1,\np2,secret\n",
            BIRDS,
            "row 3: its column completedby identifies",
        ),
        ("taskId,performer,x\np1,secret,1\n", BIRDS, "row 2: its column performer identifies"),
        ("id,says\np1,secret\np2,x\np1,y\n", BIRDS, "rows 2 and 4 have the same id, but other"),
        ("id,q\np1,secret\np1,secret\n", BIRDS, "rows 2 and 3 have the same id: give"),
        ("secret,b\np1,bird\np2, Plane \np3,\n", BIRDS, "row 2: column 2 of those that"),
        ("picture,secret\np1,3\np1,4\np2,3\np2,3\n", Interval(low=0, high=10), "column 2 of those"),
        ("picture,secret\np1,3\np1,4\np2,3\np2,3\n", Ordinal([3, 4]), "column 2 of those"),
        (f"who,what,secret\n{CROSSED}", BIRDS, "row 2: no column is unique in every row"),
    ],
)
def test_what_looks_like_answers(table, domain, told):
    with pytest.raises(FormatError, match=told) as caught:
        check(table, domain)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "domain"),
    [
        ("question,picture\nA bird?,p1\nA bird?,p2\n", BIRDS),
        ("left,right\na,b\na,c\nb,c\nb,d\nc,d\nd,a\n", BIRDS),
        ("left,right,about\na,b,x\na,c,x\nb,c,y\nb,d,y\n", BIRDS),
        (f"number,who,what,x\n{NUMBERED}", BIRDS),
        ("page,line\n1,2\n3,4\n5,6\n", Interval(low=0, high=10)),
        ("page,chapter\n3,3\n3,3\n4,4\n4,4\n", Ordinal([3, 4])),
        ("kind,q\nbird,a\nstone,b\n", BIRDS),
        ("worker,q\n,a\n,b\n", BIRDS),
        ("coderange,raters_guide\na,b\n", BIRDS),
        ("INPUT:kind\tINPUT:worker\nbird\ta\nplane\tb\n", BIRDS),
    ],
)
def test_what_does_not(table, domain):
    check(table, domain, "text/tab-separated-values" if "\t" in table else "text/csv")


def test_what_is_set_apart_is_shown_as_it_is():
    lines = ['{"data": {"worker": "a", "kind": "bird"}}', '{"data": {"kind": "plane"}}']
    check("\n".join(lines), kind="application/x-ndjson")
    with pytest.raises(FormatError, match="rows 1 and 2 have the same id: give"):
        check("\n".join(f'{{"id": 1, {line[1:]}' for line in lines), kind="application/x-ndjson")
    with pytest.raises(FormatError, match=r"row 1: column .kind. contains only"):
        check('{"kind": "bird"}\n{"kind": "plane"}', kind="application/x-ndjson", quoting=True)


def test_texts_and_lists_of_json_are_compared_as_they_are():
    lines = "".join(
        f'{{"who": {who}, "what": ["{what}"], "x": {(who + len(what)) % 2}}}\n'
        for who in (1, 2)
        for what in ("a", "bb")
    )
    with pytest.raises(FormatError, match="row 1: no column is unique in every row"):
        check(lines, kind="application/x-ndjson")
