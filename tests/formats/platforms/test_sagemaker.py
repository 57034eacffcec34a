"""Worker responses and output manifests of SageMaker Ground Truth; all are invented."""

import json
import zipfile

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError
from quietcrowd.formats import read_table
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.registry import holds_truths

DOMAIN = qc.Categorical(["cat", "dog"])
COLUMNS = ("task", "worker", "label")
STAMP = "2024-01-02_10:00:00.json"


def response(worker, content, time="2024-01-02T10:00:00.000Z"):
    identity = {"identityProviderType": "Cognito", "issuer": "https://pool", "sub": worker}
    return {
        "acceptanceTime": "2024-01-02T09:59:00.000Z",
        "answerContent": content,
        "submissionTime": time,
        "timeSpentInSeconds": 12.5,
        "workerId": f"private.us-east-2.{worker}",
        "workerMetadata": {"identityData": identity},
    }


def classified(label):
    return {"crowd-image-classifier": {"label": label}}


RESPONSES = {
    "0": [response("a", classified("cat")), response("b", classified("dog"))],
    "1": [response("a", classified("dog")), response("b", classified(None))],
}
ROWS = [
    ("0", "private.us-east-2.a", "cat"),
    ("0", "private.us-east-2.b", "dog"),
    ("1", "private.us-east-2.a", "dog"),
    ("1", "private.us-east-2.b", None),
]


def written(files, path):
    """Write files by name to a folder, or to an archive if the path has its suffix."""
    texts = {name: json.dumps({"answers": answers}) for name, answers in files.items()}
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in texts.items():
                archive.writestr(name, content)
        return path
    for name, content in texts.items():
        place = path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    return path


def rows(path, field=None, *, sets=False):
    table = read_table(path, COLUMNS, choice=Choice(field=field), sets=sets)
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("name", ["job", "job.zip"])
@pytest.mark.parametrize(
    "place",
    [
        "{}/2024-01-02_10:00:00.json",
        "job/annotations/worker-response/iteration-1/{}/2024-01-02_10:00:00.json",
        "{}.json",
    ],
)
def test_a_folder_or_a_file_is_a_task(tmp_path, name, place):
    files = {place.format(task): answers for task, answers in RESPONSES.items()}
    path = written(files, tmp_path / name)
    assert rows(path) == ROWS
    assert not holds_truths(path, COLUMNS)


@pytest.mark.parametrize("name", ["job", "job.zip"])
def test_other_files_of_the_job_are_not_answers(tmp_path, name):
    files = {
        f"job/consolidated-annotation/{STAMP}": [],
        f"job/worker-response/iteration-1/0/{STAMP}": RESPONSES["0"],
        "job/worker-response/.hidden.json": [{}],
        f"__MACOSX/job/worker-response/iteration-1/1/{STAMP}": [{}],
    }
    assert rows(written(files, tmp_path / name)) == ROWS[:2]


def test_a_folder_without_responses(tmp_path):
    with pytest.raises(FormatError, match="no JSON files of worker responses inside"):
        rows(tmp_path)


def test_one_file_is_named_after_its_folder(tmp_path):
    path = written({f"17/{STAMP}": RESPONSES["0"], "page.json": RESPONSES["0"]}, tmp_path)
    assert {row[0] for row in rows(path / "17" / STAMP)} == {"17"}
    assert {row[0] for row in rows(path / "page.json")} == {"page"}


def test_iterations_are_one_job_and_jobs_are_not(tmp_path):
    names = [f"job/iteration-{number}/0/{STAMP}" for number in (1, 2)]
    files = dict(zip(names, [[one] for one in RESPONSES["0"]], strict=True))
    assert rows(written(files, tmp_path / "one")) == ROWS[:2]
    path = written({f"{job}/0/{STAMP}": RESPONSES["0"] for job in ("x", "y")}, tmp_path / "two")
    with pytest.raises(FormatError, match=r"two: x/0 and y/0 would both be task '0'"):
        rows(path)


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ([{"crowd-classifier-multi-select": {"labels": ["cat"]}},
          {"crowd-classifier-multi-select": {"labels": []}}], [["cat"], []]),
        ([{"tags": {"cat": True, "dog": True}}, {"tags": {"cat": False, "dog": False}}],
         [["cat", "dog"], []]),
        ([{"tags": {"cat": True, "dog": False}}, {"tags": {"cat": False, "dog": True}}],
         [["cat"], ["dog"]]),
    ],
    ids=["multi-select", "checkboxes", "single"],
)  # fmt: skip
def test_several_labels_are_sets(tmp_path, contents, expected):
    answers = [response(worker, one) for worker, one in zip("ab", contents, strict=True)]
    path = written({f"0/{STAMP}": answers}, tmp_path / "job")
    assert [row[2] for row in rows(path, sets=True)] == expected


def test_one_of_several_fields_is_named_and_parsed(tmp_path):
    content = {"sure": "yes", "box": {"annotatedResult": {"boundingBoxes": []}}}
    path = written({f"0/{STAMP}": [response("a", content)]}, tmp_path / "job")
    with pytest.raises(FormatError, match="several questions, 'sure', 'box'"):
        rows(path)
    assert rows(path, "sure") == [("0", "private.us-east-2.a", "yes")]
    with pytest.raises(FormatError, match=r"answer 0, field 'box': an answer must be a label"):
        rows(path, "box")


def test_the_last_of_repeated_answers_is_the_latest(tmp_path):
    answers = [
        response("a", classified("cat"), "2024-01-02T11:00:00.000Z"),
        response("a", classified("dog")),
    ]
    path = written({f"0/{STAMP}": answers}, tmp_path / "job")
    answers = qc.read_answers(path, DOMAIN, duplicates="last")
    assert answers.to_frame()["label"].tolist() == ["cat"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"answers": 3}, "must have a list of objects, 'answers'"),
        ({"answers": [3]}, "must have a list of objects, 'answers'"),
        ({"answers": [{"workerId": "a"}]}, "answer 0: 'answerContent' must be an object; got None"),
        (
            {"answers": [{"answerContent": {"q": "cat"}, "workerId": None}]},
            "answer 0: 'workerId' must be a text or a whole number",
        ),
        ({"answers": []}, "there is no answer"),
    ],
)
@pytest.mark.parametrize("name", ["0/x.json", "x.zip"])
def test_damaged_responses_name_the_place(tmp_path, content, message, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if name == "x.zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("0/x.json", json.dumps(content))
    else:
        path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match=message):
        qc.read_answers(path, DOMAIN, file_format="sagemaker")


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"{", "0/x.json: line 1 is not JSON"), (b"\xff", "codec can't decode")],
)
def test_damaged_archives(tmp_path, content, message):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("0/x.json", content)
    with pytest.raises(FormatError, match=message):
        qc.read_answers(path, DOMAIN, file_format="sagemaker")
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(FormatError, match="File is not a zip file"):
        qc.read_answers(path, DOMAIN, file_format="sagemaker")


def metadata(kind, **others):
    return {
        "type": f"groundtruth/{kind}",
        "job-name": "labeling-job/animals",
        "human-annotated": "yes",
        "creation-date": "2024-01-02T10:00:00.000000",
        **others,
    }


MANIFEST = [
    {
        "source-ref": "s3://bucket/1.png",
        "animal": 0,
        "animal-metadata": metadata(
            "image-classification", **{"class-name": "cat"}, confidence=0.9
        ),
    },
    {
        "source-ref": "s3://bucket/2.png",
        "animal": 1,
        "animal-metadata": metadata("image-classification", **{"class-name": "dog"}),
    },
    {"source-ref": "s3://bucket/3.png", "animal-metadata": metadata("image-classification")},
]


def manifest(path, records=MANIFEST):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


@pytest.mark.parametrize("name", ["output.manifest", "output.jsonl"])
def test_a_manifest_has_known_truths(tmp_path, name):
    path = manifest(tmp_path / name)
    expected = [
        {"task": "s3://bucket/1.png", "label": "cat"},
        {"task": "s3://bucket/2.png", "label": "dog"},
    ]
    with pytest.warns(DroppedRowsWarning, match=r"dropped rows: objects without 'animal': 1$"):
        assert qc.read_truths(path).to_pylist() == expected
    assert holds_truths(path, COLUMNS)
    with pytest.raises(FormatError, match=r"one consolidated label per object.*'worker-response'"):
        qc.read_answers(path, DOMAIN)


def test_labels_of_texts_and_of_custom_jobs(tmp_path):
    records = [
        {"source": "a cat", "kind": "cat", "kind-metadata": metadata("custom")},
        {"source": "a number", "kind": 4, "kind-metadata": metadata("custom")},
    ]
    found = qc.read_truths(manifest(tmp_path / "output.manifest", records))
    assert found.to_pylist() == [
        {"task": "a cat", "label": "cat"},
        {"task": "a number", "label": "4"},
    ]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"source-ref": None, "a": 0}, "line 1: 'source-ref' must be a text"),
        ({"a": 0}, "line 1: 'source-ref' must be a text"),
        ({"source": "x", "a": {"annotations": []}}, "the labels of this job, groundtruth/object-d"),
        ({"source": "x", "a": [1]}, "line 1, 'a': the labels of this job"),
    ],
)
def test_what_is_no_label_of_an_object(tmp_path, record, message):
    record = {**record, "a-metadata": metadata("object-detection")}
    with pytest.raises(FormatError, match=message):
        qc.read_truths(manifest(tmp_path / "output.manifest", [record]))


def test_sets_are_no_truths_and_jobs_in_a_chain_are_fields(tmp_path):
    tags = metadata("image-classification-multilabel", **{"class-map": {"0": "cat", "2": "dog"}})
    record = {**MANIFEST[0], "tags": [0, 2], "tags-metadata": tags}
    path = manifest(tmp_path / "output.manifest", [record])
    with pytest.raises(FormatError, match="several questions, 'animal', 'tags'"):
        qc.read_truths(path)
    assert qc.read_truths(path, field="animal")["label"].to_pylist() == ["cat"]
    with pytest.raises(FormatError, match="known truths are sets of labels"):
        qc.read_truths(path, field="tags")
    found = read_table(path, ("task", "label"), choice=Choice(field="tags"), sets=True)
    assert found["label"].to_pylist() == [["cat", "dog"]]
