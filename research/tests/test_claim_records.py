"""What is said of the papers' claims: every record is whole, and what it names is there."""

import re
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from quietcrowd.exceptions import FormatError
from quietcrowd_research import claim_records
from quietcrowd_research.claim_records import DOCUMENTS, load_document, load_documents
from quietcrowd_research.figures import FIGURES

ROOT = Path(__file__).parents[2]
FILES = {path.stem for path in Path(claim_records.__file__).parent.glob("claims/*.toml")}
DOCUMENT = {document.name: document for document in load_documents()}
CLAIMS = {claim.id: claim for document in DOCUMENT.values() for claim in document.claims}

LAST = {
    "li2018": {"Figure": "1234", "Table": "123"},
    "sun2018": {"Figure": "12345", "Table": ("I", "II")},
    "sun2018slides": {},
    "moon2025": {"Figure": "12345", "Table": "1"},
    "huai2019": {"Figure": "12345", "Table": "12"},
}
"""The numbers of the figures and tables that are printed; those of the slides have none."""

ONE = """
document = "li2018"
title = "A paper"
note = "A note."
skipped = []
[[printed]]
number = "Figure 1"
note = "a sketch"
[[claim]]
id = "li2018-one"
where = "Abstract"
kind = "number"
claim = "It is one."
check = "count"
"""


def drawing():
    """Return the program that writes the page, as a module."""
    spec = spec_from_file_location(
        "draw_reproduction", ROOT / "research" / "docs" / "draw_reproduction.py"
    )
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def is_there(name):
    """Return whether a figure, a test, a file or a public name exists."""
    if name.startswith("figure:"):
        return name.removeprefix("figure:") in FIGURES
    if "::" in name:
        path, test = name.split("::")
        return re.search(rf"^def {test}\(", (ROOT / path).read_text(encoding="utf-8"), re.M)
    if "/" in name:
        return (ROOT / name).is_file()
    module, member = name.rsplit(".", 1)
    return hasattr(import_module(module), member)


def test_every_file_is_a_document():
    assert {*DOCUMENTS} == FILES


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_a_record_names_is_there(name):
    claims = [claim for claim in CLAIMS.values() if claim.id.startswith(f"{name}-")]
    named = {(claim.id, one) for claim in claims for one in claim.exists}
    assert named
    assert [pair for pair in sorted(named) if not is_there(pair[1])] == []


def test_reasons_that_point_to_another_claim_find_it():
    for claim in CLAIMS.values():
        for other in re.findall(
            rf"\b(?:{'|'.join(DOCUMENTS)})-[a-z][a-z0-9-]+", f"{claim.check} {claim.reason}"
        ):
            assert other in CLAIMS or other in FIGURES, (claim.id, other)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('kind = "number"', 'kind = "guess"', "li2018-one: kind 'guess' is none of"),
        ('check = "count"\n', "", "li2018-one: check is missing"),
        ('"count"', '"count"\nsource = "x"', "li2018-one: source is unknown"),
        ('"count"', '" "', "li2018-one: check is empty"),
        ('"count"', '"count"\nverdict = "reproduced"', "a verdict and its reason go together"),
        ("li2018-one", "one", "its id must begin with li2018-"),
        ("note =", "remark =", "missing, unknown or wrong: note, remark"),
        ("kind =", "kind", "claims of li2018: "),
        ('note = "a sketch"\n', "", "printed Figure 1 of li2018: it has a number, and figures"),
        ('number = "Figure 1"\n', "", "printed without number of li2018"),
    ],
)
def test_a_record_that_is_not_whole_is_refused(old, new, told):
    with pytest.raises(FormatError, match=re.escape(told)):
        load_document(ONE.replace(old, new), "li2018")


def test_a_claim_that_stands_there_twice_is_refused():
    with pytest.raises(FormatError, match="li2018-one stands there twice"):
        load_document(ONE + ONE[ONE.index("[[") :], "li2018")


def test_every_claim_has_its_verdict():
    assert [claim.id for claim in CLAIMS.values() if claim.verdict is None] == []


def test_a_figure_or_table_is_found_by_its_number():
    """Without a hole; each has a figure or a sentence, and each figure is of one document."""
    shown = []
    for name, last in LAST.items():
        printed = [each for each in DOCUMENT[name].printed if each.figures or each.note]
        numbers = " ".join(each.number for each in printed)
        for kind, numerals in last.items():
            for numeral in numerals:
                assert re.search(rf"{kind}s? ([0-9IV]+, )*{numeral}\b", numbers), (name, numeral)
        assert {figure for each in printed for figure in each.figures} <= {*FIGURES}
        if name != "sun2018slides":
            shown += [figure for each in printed for figure in each.figures]
    assert sorted(shown) == sorted(FIGURES)


def test_the_pages_are_what_the_records_say():
    drawing_of = drawing()
    written = drawing_of.pages()
    found = {
        path.relative_to(drawing_of.FOLDER).as_posix(): path.read_text(encoding="utf-8")
        for path in (
            drawing_of.FOLDER / "reproduction.md",
            *drawing_of.FOLDER.glob("claims/*"),
        )
    }
    assert found == written, "run: python research/docs/draw_reproduction.py"
