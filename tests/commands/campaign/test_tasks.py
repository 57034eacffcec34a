"""How a file of tasks is cut, and summed up; that servers take the parts is tried with commands."""

import json
from pathlib import Path

import httpx
import pytest
from tests.campaign.pictures import NO_IMAGES, PICTURES, PNG, hash_of, image, png
from tests.campaign.promises import WORDS

from quietcrowd.campaign.terms.tasks import READERS
from quietcrowd.commands.campaign import tasks
from quietcrowd.commands.campaign.tasks import TaskFile, TaskImages, summarize_tasks
from quietcrowd.exceptions import FormatError


def parts(kind, content):
    return list(TaskFile(path=Path("tasks"), media_type=kind, content=content).parts())


def test_files_are_cut_between_rows(monkeypatch):
    monkeypatch.setattr("quietcrowd.commands.campaign.tasks.PART", 60)
    content = ("a,b\n" + '"x\ny",1\n' * 40).encode()
    cut = parts("text/csv", content)
    assert len(cut) > 3
    assert all(part.startswith(b"a,b\n") and part.count(b'"') % 2 == 0 for part in cut)
    assert b"".join(part.removeprefix(b"a,b\n") for part in cut) == content.removeprefix(b"a,b\n")
    lines = b'{"a": 1}\n' * 40
    assert len(parts("application/x-ndjson", lines)) > 3
    assert b"".join(parts("application/x-ndjson", lines)) == lines


def test_names_of_some_tasks_and_words_that_move_a_cursor():
    lines = b'{"task": "a\\u001b[2J", "q": 1, "gold": 0}\n{"r\\n": 2}\n'
    assert summarize_tasks(list(READERS["application/x-ndjson"](lines))) == (
        "2 tasks, 1 of them named by task, the others numbered: a\ufffd[2J; "
        "1 with known truth; workers see: q, r"
    )


def test_tasks_that_show_nothing():
    [row] = READERS["text/csv"](b"task\nt1\n")
    assert summarize_tasks([row]).endswith("workers see: only names")


JPEG = PICTURES["image/jpeg"]
CSV = "text/csv"


@pytest.fixture
def pictures(tmp_path):
    """Return a folder with images, one of them twice and one of them named after another kind."""
    (tmp_path / "more").mkdir()
    (tmp_path / "a.png").write_bytes(png(0, (b"tEXt", b"by Anna")))
    (tmp_path / "b.PNG").write_bytes(JPEG)
    (tmp_path / "more" / "ä c.png").write_bytes(PNG)
    return tmp_path


def read(folder, text, kind=CSV):
    images, rows = TaskImages.read(folder / "t.csv", list(READERS[kind](text.encode())))
    return images.contents, [json.loads(row.data) for row in rows]


def test_files_become_hashes(pictures):
    text = "task,q,image,image_alt\na,A?,a.png,A bird\nb,B?,b.PNG,\nc,C?,more/ä c.png,\nd,D?,,\n"
    contents, shown = read(pictures, text)
    assert contents == {hash_of(PNG): PNG, hash_of(JPEG): JPEG}
    assert shown == [
        {"q": "A?", "image": image(PNG, "A bird")},
        {"q": "B?", "image": image(JPEG)},
        {"q": "C?", "image": image(PNG)},
        {"q": "D?"},
    ]


def test_lines_of_json_name_files_or_images(pictures):
    lines = [{"q": "A?", "image": r"more\ä c.png"}, {"image": image(JPEG, "x")}, {"image": 7}]
    contents, shown = read(pictures, "\n".join(map(json.dumps, lines)), "application/x-ndjson")
    assert contents == {hash_of(PNG): PNG}
    assert shown == [{"q": "A?", "image": image(PNG)}, *lines[1:]]


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("none.png", "the directory of the file of tasks has no readable file 'none.png'"),
        ("more", "has no readable file 'more'"),
        ("https://example.org/a.png", "has no readable file 'https://example.org/a.png'"),
        ("../a.png", "'../a.png' is outside the directory of the file of tasks"),
        (r"more\..\..\a.png", "is outside the directory of the file of tasks"),
        ("/etc/hostname", "is outside the directory of the file of tasks"),
        (r"C:\a.png", "is outside the directory of the file of tasks"),
        ("a\u202e.png", "has no readable file 'a\ufffd.png'"),
        ("no.png", "'no.png': this is no PNG, JPEG or WebP"),
        ("half.png", "'half.png': the image is cut off"),
        ("bomb.png", "'bomb.png': the image has 60,000 x 60,000 pixels; at most 40,000,000"),
        ("large.png", "has 1,048,665 bytes, and the limit is 1,048,576. Make it smaller"),
        (",words", "image_alt describes an image, but image is empty"),
    ],
)
def test_a_wrong_file_is_named_with_its_row(pictures, cell, told):
    (pictures / "no.png").write_bytes(NO_IMAGES["SVG"])
    (pictures / "half.png").write_bytes(PNG[:40])
    (pictures / "bomb.png").write_bytes(png(width=60_000, height=60_000))
    (pictures / "large.png").write_bytes(png(0, (b"iCCP", bytes(2**20 + 10))))
    cells = cell if "," in cell else f"{cell},"
    with pytest.raises(FormatError) as caught:
        read(pictures, f"image,image_alt\na.png,\n{cells}\n")
    assert str(caught.value).startswith(f"{pictures / 't.csv'}: row 3, column image: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("limit", "value"), [("MAX_IMAGES", 1), ("MAX_IMAGE_BYTES", 180), ("_LONGEST_FILE", 90)]
)
def test_images_have_limits(pictures, monkeypatch, limit, value):
    monkeypatch.setattr(tasks, limit, value)
    with pytest.raises(FormatError, match=r"row 3, column image: .*(the limit is|larger than)"):
        read(pictures, "image\na.png\nb.PNG\n")


def test_a_campaign_is_made_with_images_and_opens(run, at_desk, pictures):
    (pictures / "t.csv").write_text("task,q,image,gold\na,A?,a.png,yes\nb,B?,b.PNG,\n")
    words = ("--tasks", pictures / "t.csv", "--labels", "no,yes", *WORDS)
    status, printed, errors = run("campaign", "create", "T", *words)
    assert status == 0, errors
    assert "2 tasks, named by task: a, b; 1 with known truth; workers see: q, image" in errors
    assert "2 images, 0.0 MiB, without the places, times and names" in errors
    one = printed.strip()
    tasks = at_desk.client.get(f"/campaigns/{one}/tasks").json()["items"]
    assert [(task["task"], task["data"], task["gold"]) for task in tasks] == [
        ("a", {"q": "A?", "image": image(PNG)}, "yes"),
        ("b", {"q": "B?", "image": image(JPEG)}, None),
    ]
    assert run("campaign", "open", one)[0] == 0


def test_images_wait_for_a_server_that_has_too_much_to_do(monkeypatch):
    naps = []
    monkeypatch.setattr(tasks, "sleep", naps.append)
    answers = iter([429, 503, 204, 204])
    sent = []

    def answer(request):
        sent.append((request.url.path, request.content))
        return httpx.Response(next(answers))

    with httpx.Client(base_url="http://test", transport=httpx.MockTransport(answer)) as client:
        tasks.upload_images(client, "c", {hash_of(PNG): PNG, hash_of(JPEG): JPEG})
    assert naps == [1, 1]
    first, second = (f"/campaigns/c/images/{hash_of(one)}" for one in (PNG, JPEG))
    assert sent == [(first, PNG)] * 3 + [(second, JPEG)]


def test_a_wrong_image_leaves_no_draft(run, at_desk, pictures):
    (pictures / "t.csv").write_text("q,image\nA?,none.png\n")
    words = ("--tasks", pictures / "t.csv", "--labels", "no,yes", *WORDS)
    status, printed, errors = run("campaign", "create", "T", *words)
    assert (status, printed) == (2, "")
    assert "row 2, column image: the directory of the file of tasks has no readable" in errors
    assert len(errors.strip().splitlines()) == 1
    assert at_desk.client.get("/campaigns").json()["items"] == []
