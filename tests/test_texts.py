"""The sentences of errors and warnings: each code has one, and names its fields."""

import ast
import pickle
import re
import tomllib
from pathlib import Path
from string import Formatter

import pytest

import quietcrowd as qc
from quietcrowd import exceptions
from quietcrowd.exceptions import FormatError, ParameterError

SOURCE = Path(qc.__file__).parent
TEXTS = {
    f"{path.stem}.{kind}": sentence
    for path in (SOURCE / "texts").glob("*.toml")
    for kind, sentence in tomllib.loads(path.read_text(encoding="utf-8")).items()
}
OPTIONAL = {"row", "advice", "least"}
"""Fields that an error keeps beside those of its sentence."""


def calls():
    """Yield (place, first argument, names of fields) of each call of an error or warning."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id=name), args=[text, *_]) if name in CODED:
                    fields = {keyword.arg for keyword in node.keywords}
                    yield f"{path}:{node.lineno}", text, fields


def subclasses(kind):
    return {kind.__name__}.union(*(subclasses(one) for one in kind.__subclasses__()))


CODED = subclasses(exceptions.QuietcrowdError) | subclasses(exceptions.QuietcrowdWarning)
CODED |= {"KnownTruthError", "QuestionError", "UnaffordableError"}
INDIRECT = {
    "mechanisms.sampled-variance-removed",
    *("answers.ids-without-points", "answers.marks-read-as-missing", "answers.values-cleaned"),
    *("campaign.task-file-damaged", "campaign.workbooks-unsupported"),
}
"""Codes that are in tables, or parameters of a function."""
FOR_REQUESTERS = {code: text for code, text in TEXTS.items() if code.startswith("results.")}


def fields_of(sentence):
    return {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}


@pytest.mark.slow
def test_errors_are_raised_by_code_with_the_fields_of_its_sentence():
    used = {*INDIRECT, *FOR_REQUESTERS}
    for place, text, fields in calls():
        assert not isinstance(text, ast.JoinedStr | ast.BinOp), place
        if isinstance(text, ast.Constant):
            assert text.value in TEXTS, (place, text.value)
            wanted = fields_of(TEXTS[text.value])
            assert wanted <= fields, place
            assert fields - wanted <= OPTIONAL, place
            used.add(text.value)
    assert used == set(TEXTS)


@pytest.mark.parametrize("code", FOR_REQUESTERS)
def test_a_sentence_for_requesters_has_fields_of_that_for_programmers_and_names_no_code(code):
    text = FOR_REQUESTERS[code]
    kinds = [code.replace("results", kind) for kind in ("campaign", "inference", "survey")]
    [text_for_programmers] = [TEXTS[kind] for kind in kinds if kind in TEXTS]
    assert fields_of(text) <= fields_of(text_for_programmers)
    assert not re.search("[a-z]=|--|epsilon", text)


def test_an_error_has_its_code_and_fields():
    with pytest.raises(ParameterError) as raised:
        qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon="much")
    assert raised.value.code in TEXTS
    assert raised.value.fields["value"] == "much"


def test_errors_keep_code_and_fields_in_another_process():
    inner = FormatError("formats.utf16", path=Path("a.csv"))
    error = exceptions.FormatError("formats.in-file", path="b.csv", error=inner)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code) == (str(error), "formats.in-file")
    assert again.fields["path"] == "b.csv"
    assert again.fields["error"].fields == {"path": "a.csv"}


def test_an_extension_gives_its_sentence_as_it_is():
    for text in ("level must be 1 to {7}; got 9", "levels.csv", "domains.nearby-level", ""):
        error = ParameterError(text)
        assert (str(error), error.code, error.fields) == (text, "", {})
