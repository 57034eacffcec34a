"""Exports of Kili, in the shape of its raw format; all rows are invented."""

import json

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.registry import read_table

COLUMNS = ("task", "worker", "label")


def job(*names, **children):
    return {"categories": [{"confidence": 100, "name": one, **children} for one in names]}


def label(who, response, when="2024-07-03T12:18:08.825Z", kind="DEFAULT", latest=True, **parts):
    return {
        "author": {"email": who, "firstname": "A", "id": "u1", "lastname": "B"},
        "createdAt": when,
        "isLatestLabelForUser": latest,
        "isSentBackToQueue": False,
        "jsonResponse": response,
        "labelType": kind,
        "modelName": None,
    } | parts


def asset(one, *labels, **parts):
    ids = {"content": "https://example.org/x", "externalId": one, "id": f"clk{one}"}
    return {**ids, "jsonContent": "", "jsonMetadata": {}, "labels": list(labels)} | parts


ASSETS = [
    asset(
        "a1",
        label("ann@example.org", {"TONE": job("WARM"), "TOPICS": job("FOOD", "RAIN, SNOW")}),
        label("bob@example.org", {"TONE": job("COLD"), "WHY": {"text": "None"}}),
    ),
    asset("a2", label("ann@example.org", {"TONE": job("WARM"), "TOPICS": job()})),
]


@pytest.fixture
def export(tmp_path):
    def write(*assets, name="data.json"):
        path = tmp_path / name
        whole = name.endswith(".json")
        text = json.dumps(assets) if whole else "\n".join(map(json.dumps, assets))
        path.write_text(text, encoding="utf-8")
        return path

    return write


def read(path, question=None, **options):
    table = read_table(path, COLUMNS, choice=Choice(field=question), **options)
    return list(map(tuple, map(dict.values, table.to_pylist())))


@pytest.mark.parametrize("name", ["data.json", "data.ndjson", "data.jsonl"])
def test_one_category_each_gives_texts(export, name):
    assert read(export(*ASSETS, name=name), "TONE") == [
        ("a1", "ann@example.org", "WARM"),
        ("a1", "bob@example.org", "COLD"),
        ("a2", "ann@example.org", "WARM"),
    ]


def test_python_reads_the_same_answers(export):
    answers = qc.read_answers(export(ASSETS[1]), qc.Categorical(["COLD", "WARM"]), field="TONE")
    assert answers.to_frame().to_numpy().tolist() == [["a2", "ann@example.org", "WARM"]]


def test_several_categories_give_lists_and_a_text_gives_texts(export):
    path = export(*ASSETS)
    assert read(path, "TOPICS", sets=True) == [
        ("a1", "ann@example.org", ["FOOD", "RAIN, SNOW"]),
        ("a1", "bob@example.org", None),
        ("a2", "ann@example.org", []),
    ]
    assert read(path, "WHY") == [
        ("a1", "ann@example.org", None),
        ("a1", "bob@example.org", "None"),
        ("a2", "ann@example.org", None),
    ]


def test_one_category_each_gives_lists_to_those_who_read_sets(export):
    path = export(ASSETS[1])
    assert read(path, "TONE", sets=True) == [("a2", "ann@example.org", ["WARM"])]
    with pytest.raises(FormatError, match="column 'label' has list<item: string> values"):
        read(export(*ASSETS), "TOPICS")


def test_several_jobs_are_listed_with_their_counts(export):
    message = r"'TONE' \(answers: 3\), 'TOPICS' \(answers: 2\), 'WHY' \(answers: 1\)\. Choose"
    with pytest.raises(FormatError, match=message):
        read(export(*ASSETS))


def test_jobs_inside_categories_are_jobs(export):
    path = export(asset("a1", label("ann", {"TONE": job("WARM", children={"SURE": job("YES")})})))
    assert read(path, "SURE") == [("a1", "ann", "YES")]


def test_a_response_may_be_json_in_a_text(export):
    assert read(export(asset("a1", label("ann", '{"TONE": {"categories": [{"name": "X"}]}}')))) == [
        ("a1", "ann", "X")
    ]


def test_reviews_and_predictions_are_told_and_dropped(export):
    path = export(
        asset(
            "a1",
            label("ann", {"TONE": job("WARM")}),
            label("eve", {"TONE": job("COLD")}, kind="REVIEW"),
            label(None, {"TONE": job("COLD")}, kind="PREDICTION"),
            label(None, {"TONE": job("COLD")}, kind="PREDICTION"),
        )
    )
    message = "labels of type REVIEW: 1; labels of type PREDICTION: 2$"
    with pytest.warns(DroppedRowsWarning, match=message):
        assert read(path) == [("a1", "ann", "WARM")]


def test_labels_that_the_annotator_replaced_are_told_and_dropped(export):
    path = export(
        asset(
            "a1",
            label("ann", {"TONE": job("COLD")}, latest=False),
            label("ann", {"TONE": job("WARM")}),
            label("bob", {"TONE": job("COLD")}, latest=False),
        )
    )
    with pytest.warns(DroppedRowsWarning, match="labels that their annotator replaced: 1$"):
        assert read(path) == [("a1", "ann", "WARM"), ("a1", "bob", "COLD")]


def test_labels_without_marks_are_in_order_of_time(export):
    unmarked = {"isLatestLabelForUser": None}
    path = export(
        asset(
            "a1",
            label("ann", {"TONE": job("COLD")}, "2024-07-04T08:00:00.000Z", **unmarked),
            label("ann", {"TONE": job("WARM")}, **unmarked),
        )
    )
    assert read(path) == [("a1", "ann", "WARM"), ("a1", "ann", "COLD")]


BOX = {"annotations": [{"categories": [{"name": "FACE"}], "type": "rectangle", "mid": "2"}]}


def test_objects_are_never_labels(export):
    path = export(asset("a1", label("ann", {"TONE": job("WARM"), "FACES": BOX})))
    assert read(path) == [("a1", "ann", "WARM")]
    boxes = export(asset("a1", label("ann", {"FACES": BOX})), name="boxes.json")
    for source, question in ((path, "FACES"), (boxes, None)):
        with pytest.raises(FormatError, match="'FACES' are shapes or spans"):
            read(source, question)


def test_other_ids(export):
    someone = {"author": {"id": 7, "email": None}}
    path = export(asset("a1", label("", {"TONE": job("WARM")}, **someone), externalId=None))
    assert read(path) == [("clka1", "7", "WARM")]


def test_damage_outside_the_job_is_let_be(export):
    damaged = {"TONE": job("WARM"), "TOPICS": {"categories": "?"}, "WHY": 5}
    path = export(asset("a1", label("ann", damaged), jsonMetadata="{"))
    assert read(path, "TONE") == [("a1", "ann", "WARM")]
    with pytest.raises(FormatError, match="'categories' must be a list of objects"):
        read(path, "TOPICS")


GOOD = {"TONE": job("WARM")}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (asset("a1", label("", GOOD)), "record 0, label 0: 'author.email' must be a text"),
        (asset("a1", label("ann", GOOD, author=None)), "'author.id' must be a text"),
        (asset("a1", label("ann", GOOD, author="ann")), "'author' must be an object"),
        (asset(None, label("ann", GOOD), id=None), "record 0: 'id' must be a text"),
        (asset(["a"], label("ann", GOOD)), "record 0: 'externalId' must be a text"),
        (asset("a1", label("ann", "{")), "record 0, label 0, 'jsonResponse' is not JSON"),
        (asset("a1", label("ann", "[]")), "'jsonResponse' must be an object"),
        (asset("a1", label("ann", [])), "'jsonResponse' must be an object"),
        (asset("a1", label("ann", {})), "there is no answer in this file"),
        (asset("a1", label("ann", {"TONE": job(None)})), "'TONE': null is not a label"),
        (asset("a1", label("ann", {"WHY": {"text": {"a": 1}}})), "is not a label"),
        (asset("a1", label("ann", {"MIX": job("X") | BOX})), "is not a label"),
        (asset("a1", labels={}), "record 0: 'labels' must be a list of objects"),
        (asset("a1", labels=["x"]), "record 0: 'labels' must be a list of objects"),
    ],
)
def test_damage_names_the_label(export, row, message):
    question = "MIX" if "MIX" in str(row) else None
    with pytest.raises(FormatError, match=message):
        read(export(row), question, file_format="kili")


def test_one_external_id_of_two_assets_is_an_error(export):
    path = export(asset("a1", label("ann", GOOD)), asset("a1", label("bob", GOOD), id="other"))
    with pytest.raises(FormatError, match="two tasks have the id a1"):
        read(path)


def test_an_export_of_the_latest_labels_is_incomplete(export):
    row = asset("a1") | {"latestLabel": label("ann", GOOD)}
    del row["labels"]
    with pytest.raises(FormatError, match=r"only the latest label of each asset\. Export all"):
        read(export(row))


def test_known_truths_are_not_in_this_export(export):
    with pytest.raises(FormatError, match="Kili export cannot contain known truths"):
        qc.read_truths(export(*ASSETS))


@pytest.mark.parametrize("worker", ["worker", "workerId", "performer"])
def test_a_table_that_mentions_the_keys_stays_a_table(tmp_path, worker):
    path = tmp_path / "a.jsonl"
    row = {"task": "labels", worker: "externalId", "label": "yes", "externalId": 1, "labels": []}
    path.write_text(json.dumps(row))
    assert read(path) == [("labels", "externalId", "yes")]
