"""The pages of the figures that were run again."""

from pathlib import Path

import pytest

from quietcrowd_research.claim_records import load_documents
from quietcrowd_research.figure_folder import claims_of, finding, same_results, write_pages_anew
from quietcrowd_research.figures import FIGURES

FOLDER = Path(__file__).parents[1] / "docs" / "reproduction"


@pytest.mark.parametrize("name", FIGURES)
def test_a_page_begins_with_a_verdict_of_the_records(name):
    document, claims = claims_of(name)
    assert document == name.partition("-")[0]
    assert claims
    verdicts = {str(claim.verdict).capitalize() for claim in claims}
    assert finding(name).split(":**")[0].removeprefix("**") in verdicts


def test_a_claim_about_the_figure_itself_comes_first():
    claims = {claim.id: claim for document in load_documents() for claim in document.claims}
    assert claims["li2018-figure-4"].claim in finding("li2018-4")
    assert "of 10 claims" in finding("li2018-table-3").lower()


def test_a_table_has_the_picture_of_the_same_experiments():
    assert same_results("li2018-table-3") == "li2018-4"
    assert same_results("li2018-table-1") is None


def test_the_pages_are_what_the_records_say(tmp_path):
    for path in FOLDER.iterdir():
        if path.suffix in (".md", ".json"):
            (tmp_path / path.name).write_bytes(path.read_bytes())
    write_pages_anew(tmp_path, FIGURES)
    changed = [
        name
        for name in FIGURES
        if (tmp_path / f"{name}.md").read_text() != (FOLDER / f"{name}.md").read_text()
    ]
    assert changed == [], "run: write_pages_anew(FOLDER, FIGURES)"
