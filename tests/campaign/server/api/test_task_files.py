"""Files of tasks in any format: what they contain, and their tasks and images."""

import gzip
import io
import json
import zipfile
from functools import partial

import openpyxl
import pandas as pd
import pytest
from tests.campaign.people import YES_NO, check_problem
from tests.campaign.pictures import NO_IMAGES, PICTURES, PNG, hash_of, image, png
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.campaign.terms.settings import MAX_TASKS

TABLE = {"task": ["a", "b"], "question": ["Is it =1+1?", "<b>Is it ä?</b>"], "gold": ["yes", None]}
FRAME = pd.DataFrame(TABLE)


def in_bytes(write, *given, **named):
    file = io.BytesIO()
    write(file, *given, **named)
    return file.getvalue()


def as_csv(frame, encoding="utf-8", **named):
    return frame.to_csv(index=False, **named).encode(encoding)


FILES = {
    "CSV": as_csv(FRAME),
    "semicolons": b"\xef\xbb\xbf" + as_csv(FRAME, sep=";"),
    "sep": b"sep=;\r\n" + as_csv(FRAME, sep=";"),
    "UTF-16": as_csv(FRAME, "utf-16", sep="\t"),
    "packed": gzip.compress(as_csv(FRAME)),
    "JSON": FRAME.to_json(orient="records").encode(),
    "lines": FRAME.to_json(orient="records", lines=True).encode(),
    "Label Studio": json.dumps(
        [
            {"id": name, "data": {"question": question}, "annotations": [], "gold": gold}
            for name, question, gold in zip(*TABLE.values(), strict=True)
        ],
        indent=1,
    ).encode(),
    "Parquet": in_bytes(FRAME.to_parquet, index=False),
    "Excel": in_bytes(FRAME.to_excel, index=False),
}


@pytest.fixture
def draft(desk):
    """Return a draft's address, and functions that read a file there and add it."""
    url = f"/campaigns/{desk.draft()['id']}"

    def send(path, content, **params):
        params = {"file": "t", **params}
        return desk.client.post(f"{url}/{path}", content=content, params=params)

    return url, partial(send, "tasks/reading"), partial(send, "tasks")


@pytest.mark.grid
@pytest.mark.parametrize("name", [*FILES])
def test_the_content_decides_how_a_file_is_read(desk, draft, name):
    url, read, add = draft
    found = read(FILES[name]).raise_for_status().json()
    assert found["tasks"] == 2
    assert found["domain"] == qc.Categorical(["no", "yes"]).to_dict()
    assert [one["data"] for one in found["first"]] == [
        {"question": one} for one in TABLE["question"]
    ]
    assert {one["name"]: one["kind"] for one in found["columns"]}.items() >= {
        ("question", "shown"),
        ("gold", "gold"),
    }
    assert desk.client.get(url).json()["tasks"] == 0
    assert add(FILES[name]).json() == {"imported": 2, "tasks": 2}
    items = desk.client.get(f"{url}/tasks").json()["items"]
    assert [(one["task"], one["gold"]) for one in items] == [("a", "yes"), ("b", None)]


def test_columns_like_answers_are_left_out_until_they_are_selected(draft):
    _, read, add = draft
    content = b"picture,rater,guess\np1,ann,no\np2,bob,yes\np3,ann,yes\n"
    check_problem(add(content), 422, "validation")
    found = read(content).json()
    flagged = {one["name"]: (one["kind"], one["looks_like_answers"]) for one in found["columns"]}
    assert flagged == {
        "picture": ("shown", False),
        "rater": ("left out", True),
        "guess": ("left out", True),
    }
    assert found["first"][0]["data"] == {"picture": "p1"}
    assert "guess, rater" in found["notes"][0]
    wanted = {"shown": ["picture", "guess"]}
    again = read(content, **wanted).json()
    assert again["first"][1]["data"] == {"picture": "p2", "guess": "yes"}
    assert add(content, **wanted).json()["imported"] == 3


def test_a_column_names_the_tasks(desk, draft):
    url, read, add = draft
    content = b"page,text\nx,1\ny,2\n"
    assert "are numbered" in read(content).json()["notes"][0]
    found = read(content, task="page").json()
    assert found["columns"][0] == {
        "name": "page",
        "kind": "task",
        "looks_like_answers": False,
        "examples": ["x", "y"],
    }
    add(content, task="page").raise_for_status()
    assert [one["task"] for one in desk.client.get(f"{url}/tasks").json()["items"]] == ["x", "y"]
    wrong = read(content, task="nowhere").json()
    assert wrong["first"] == []
    assert "Row 2:" in wrong["notes"][0]


@pytest.mark.parametrize(
    ("truths", "domain"),
    [
        (["yes"], qc.Categorical(["no", "yes"])),
        (["crow", "robin"], qc.Categorical(["crow", "robin"])),
        ([1, 5], qc.Ordinal(range(1, 6))),
        ([1.5, 7], qc.Interval(low=1.5, high=7)),
        ([0, 1_000], qc.Interval(low=0, high=1_000)),
        (["crow"], None),
        (list(map("a{}".format, range(21))), None),
    ],
)
def test_known_truths_suggest_possible_answers(draft, truths, domain):
    _, read, _ = draft
    lines = "".join(
        f"{json.dumps({'q': place, 'gold': one})}\n" for place, one in enumerate(truths)
    )
    found = read(lines.encode()).json()
    assert found["domain"] == (None if domain is None else domain.to_dict())


def sparse_workbook():
    """Return a small workbook with 20,000 rows of 16,384 columns."""
    cell = '<c r="{}{}" t="inlineStr"><is><t>{}</t></is></c>'.format
    rows = (
        f'<row r="{row}">{cell("A", row, "x")}{cell("XFD", row, "y")}</row>'
        for row in range(1, 20_001)
    )
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(rows)}</sheetData></worksheet>'
    made = io.BytesIO()
    book = zipfile.ZipFile(io.BytesIO(in_bytes(openpyxl.Workbook().save)))
    with book, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in book.namelist():
            packed.writestr(name, sheet if "sheet1" in name else book.read(name))
    return made.getvalue()


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def zipped(name):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        packed.writestr(name, "hello")
    return made.getvalue()


NO_WORKBOOKS = {
    "bytes": bytes(range(256)) * 8,
    "text": b"hello",
    "zeros": bytes(100),
    "a zip": zipped("a.txt"),
    "a zip with XML": zipped("[Content_Types].xml"),
    "a zip of a sheet": zipped("xl/sheet.xml"),
    "half of one": FILES["Excel"][:2_000],
}


@pytest.mark.parametrize("name", NO_WORKBOOKS)
def test_a_file_that_only_its_name_makes_a_workbook_is_refused_as_such(desk, draft, name):
    url, read, add = draft
    for send in (read, add):
        refused = send(NO_WORKBOOKS[name], file="bad.XLSX")
        [error] = check_problem(refused, 422, "validation")["errors"]
        assert error["message"] == (
            "the file is not an Excel workbook. Open it in the program that made it, and save it "
            "again as .xlsx or CSV UTF-8."
        )
    assert desk.client.get(url).json()["tasks"] == 0


def test_a_workbook_with_an_error_reports_the_error(draft):
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    refused = draft[1](in_bytes(twice.to_excel, index=False), file="bad.xlsx")
    [error] = check_problem(refused, 422, "validation")["errors"]
    assert error["message"].startswith("row 1: column names")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "names must not be empty"),
        (b"task,a\n", "no tasks"),
        (b"a,a\n1,2\n", "must be unique"),
        (b"a,b\n1\n", "row 2: the numbers of cells"),
        ("a,b\nä,2\n".encode("latin-1"), "must be in UTF-8"),
        (b'{"a": 1}\n{"a"\n', "row 2: invalid JSON"),
        (b"PK\x03\x04secret", "not a table of tasks"),
        (b"PAR1secret", "not a table of tasks"),
        (b"\x1f\x8bsecret", "not a table of tasks"),
        (gzip.compress(b"a\n" + b"1\n" * 2**26, mtime=0), "larger than"),
        (gzip.compress(as_csv(FRAME), mtime=0)[:-9], "not one whole file"),
        (gzip.compress(b"a\n1\n", mtime=0) * 2, "not one whole file"),
        ("a\n1\n".encode("utf-16") + b"\x00", "UTF-16 is invalid at byte 10"),
        (b"a\n" + b"1\n" * 100_000, f"more than {MAX_TASKS:,} tasks"),
        nightly(
            in_bytes(pd.DataFrame({"a": [1] * 30_000}).to_parquet), f"more than {MAX_TASKS:,} tasks"
        ),
        (in_bytes(pd.DataFrame({"a": [1] * 2**22}).to_parquet), "larger than"),
    ],
)
def test_a_hostile_file_does_no_harm(desk, draft, content, told):
    url, read, add = draft
    for send in (read, add):
        refused = send(content)
        [error] = check_problem(refused, 422, "validation")["errors"]
        assert told in error["message"]
        assert "secret" not in refused.text
        assert "/tmp" not in refused.text
    assert desk.client.get(url).json()["tasks"] == 0


@pytest.mark.nightly
def test_a_small_workbook_cannot_fill_the_memory(draft):
    [error] = check_problem(draft[1](sparse_workbook()), 422, "validation")["errors"]
    assert "larger than" in error["message"]


def test_what_a_cell_holds_stays_text(desk, draft):
    url, _, add = draft
    cells = [
        '=HYPERLINK("http://x")',
        "@SUM(1)",
        "<img src=x onerror=alert(1)>",
        "\u202etxt",
        "'=1",
    ]
    content = as_csv(pd.DataFrame({"question": cells}))
    add(content).raise_for_status()
    items = desk.client.get(f"{url}/tasks").json()["items"]
    assert [one["data"]["question"] for one in items] == cells


def test_images_lose_their_metadata_and_are_named_by_their_files(desk, draft):
    url, read, add = draft
    photo = png(0, (b"tEXt", b"by Anna"))
    content = b"image,image_alt,q\na.png,A bird,A?\nb.png,,B?\n,,C?\n"
    assert read(content).json()["columns"][0]["kind"] == "image"
    [error] = check_problem(add(content), 422, "validation")["errors"]
    assert error["message"].startswith("row 2, column image: no image with this file name")
    for name in ("a.png", "b.png"):
        sent = desk.client.post(f"{url}/images", content=photo, params={"file": name})
        assert sent.json() == {"sha256": hash_of(PNG)}
    add(content).raise_for_status()
    shown = [one["data"] for one in desk.client.get(f"{url}/tasks").json()["items"]]
    assert shown == [
        {"image": image(PNG, "A bird"), "q": "A?"},
        {"image": image(PNG), "q": "B?"},
        {"q": "C?"},
    ]
    kept = desk.client.get(f"{url}/images/{hash_of(PNG)}")
    assert (kept.content, kept.headers["content-type"]) == (PNG, "image/png")
    desk.client.post(f"{url}/open").raise_for_status()
    closed = desk.client.post(f"{url}/images", content=PNG)
    check_problem(closed, 409, "bad-state")


@pytest.mark.parametrize("name", NO_IMAGES)
def test_what_is_no_image_is_refused(desk, draft, name):
    sent = desk.client.post(f"{draft[0]}/images", content=NO_IMAGES[name])
    assert sent.status_code in (415, 422)
    assert all(kind in PICTURES for kind in ("image/png", "image/jpeg", "image/webp"))


def test_options_of_tasks_suggest_what_the_draft_needs(desk, draft):
    url, read, add = draft
    content = b"q,options,gold\nCapital?,Rome|Oslo|Bern,Oslo\nRiver?,Po|Rhine,\n"
    found = read(content).json()
    labels = ["Rome", "Oslo", "Bern", "Po", "Rhine"]
    assert (found["domain"]["labels"], found["option_counts"]) == (labels, [2, 3])
    assert found["first"][1]["data"] == {"q": "River?", "options": ["Po", "Rhine"]}
    change = {name: found[name] for name in ("domain", "option_counts")}
    tag = {"If-Match": desk.client.get(url).headers["etag"]}
    desk.client.patch(url, json=change, headers=tag).raise_for_status()
    add(content).raise_for_status()
    desk.client.post(f"{url}/open").raise_for_status()
    assert read(b"q,options\nx,\ny,a|a\n").status_code == 409


def test_options_fit_the_tasks_that_are_there(desk, draft):
    url, read, add = draft
    content = b"q,options\nCapital?,Rome|Oslo|Bern\nRiver?,Po|Rhine\n"
    listed = {name: read(content).json()[name] for name in ("domain", "option_counts")}

    def change(**members):
        tag = {"If-Match": desk.client.get(url).headers["etag"]}
        return desk.client.patch(url, json=members, headers=tag)

    def refused(sentence, **members):
        [error] = check_problem(change(**members), 422, "validation")["errors"]
        assert error["pointer"] == "/option_counts"
        assert sentence in error["message"]

    add(b"q\nA plain one?\n").raise_for_status()
    refused("list other options, or none", **listed)
    desk.client.delete(f"{url}/tasks").raise_for_status()
    change(**listed).raise_for_status()
    add(content).raise_for_status()
    yes_no = YES_NO.to_dict()
    refused("remove the tasks first", domain=yes_no, option_counts=None)
    refused("list other options", domain=read(b"q,options\nx?,a|b|c\ny?,a|b\n").json()["domain"])
    assert desk.client.get(f"{url}/readiness").json()["ready"]
    desk.client.delete(f"{url}/tasks").raise_for_status()
    change(domain=yes_no, option_counts=None).raise_for_status()
    add(b"q\nA plain one?\n").raise_for_status()
