"""What is said of the papers' claims: every record is whole, and what it names is there."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from quietcrowd.evaluation import papers

ROOT = Path(__file__).parents[3]
FILES = sorted((Path(papers.__file__).parent / "claims").glob("*.toml"))
KINDS = {"theorem", "figure", "table", "number", "statement"}
VERDICTS = {"reproduced", "reproduced with a note", "not reproduced", "cannot be tried"}
NEEDED = {"id", "where", "kind", "claim", "check"}
OPTIONAL = {"printed", "exists", "verdict", "reason"}

DOCUMENTS = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in FILES}
CLAIMS = {claim["id"]: claim for document in DOCUMENTS.values() for claim in document["claim"]}


def is_there(name):
    """Return whether a figure, a test, a file or a public name exists."""
    if name.startswith("figure:"):
        return name.removeprefix("figure:") in papers.FIGURES
    if "::" in name:
        path, test = name.split("::")
        return re.search(rf"^def {test}\(", (ROOT / path).read_text(encoding="utf-8"), re.M)
    if "/" in name:
        return (ROOT / name).is_file()
    module, member = name.rsplit(".", 1)
    return hasattr(import_module(module), member)


def test_five_documents_and_no_claim_twice():
    assert {*DOCUMENTS} == {"huai2019", "li2018", "moon2025", "sun2018", "sun2018slides"}
    assert len(CLAIMS) == sum(len(document["claim"]) for document in DOCUMENTS.values())


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_record_is_whole(name):
    document = DOCUMENTS[name]
    assert document.keys() == {"document", "title", "note", "skipped", "claim"}
    assert document["document"] == name
    for claim in document["claim"]:
        assert NEEDED <= claim.keys() <= NEEDED | OPTIONAL, claim["id"]
        assert claim["id"].startswith(f"{name}-")
        assert claim["kind"] in KINDS, claim["id"]
        assert ("verdict" in claim) == ("reason" in claim), claim["id"]
        assert claim.get("verdict", "reproduced") in VERDICTS, claim["id"]
        assert all(claim[key].strip() for key in claim.keys() - {"exists"}), claim["id"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_a_record_names_is_there(name):
    named = {
        (claim["id"], one) for claim in DOCUMENTS[name]["claim"] for one in claim.get("exists", [])
    }
    assert named
    assert [pair for pair in sorted(named) if not is_there(pair[1])] == []


def test_reasons_that_point_to_another_claim_find_it():
    for claim in CLAIMS.values():
        text = f"{claim['check']} {claim.get('reason', '')}"
        for other in re.findall(r"\b(?:sun2018|li2018|huai2019|moon2025)-[a-z][a-z0-9-]+", text):
            assert other in CLAIMS or other in papers.FIGURES, (claim["id"], other)
