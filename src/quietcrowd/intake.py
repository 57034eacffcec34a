"""Checks of the columns of raw answers, in files and frames alike.

Marks such as NA become missing values. Texts get one Unicode form, without invisible characters and
surrounding spaces. Lists and objects in text, and ids that a workbook has rounded, are errors.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.answer_errors import is_id_type, mark_note, plain_type
from quietcrowd.exceptions import AnswerError, ChangedValuesWarning, ParameterError
from quietcrowd.frames import dictionary_codes

MISSING = (
    *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    *("\\N", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"),
)
"""Texts that mark a missing value: those of pandas, databases and failed formulas.

The empty text always does.
"""

_INVISIBLE: Mapping[int, str | None] = {
    **dict.fromkeys((0xAD, 0x34F, 0x61C, 0x180E, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F))),
    **dict.fromkeys((*range(0x2060, 0x2065), *range(0x2066, 0x206A), 0x3164, 0xFEFF)),
    **dict.fromkeys((0xA0, 0x2007, 0x202F), " "),
}
"""Invisible characters are deleted, and spaces without a line break become spaces."""

_JOINERS = "\u200c\u200d"
"""Invisible characters that have a meaning between letters."""

_UNCLEAN = r"^[\s\[{(\"]|^\w+\(\s*[\[{(]|\s$|[^\x20-\x7e]"
"""Matches texts that may have to change, or that may be a list or an object."""

_STRUCTURED = re.compile(
    r"""
    \[ \s* ( ( ['"\[{(] | NUMBER \s* , ) .* )? \]       # a list, but not "[unclear]"
    | \[ \s* NUMBER (\s+ NUMBER)* \s* \]               # an array of numpy
    | \{ ( \s* ( ['"] .* )? | [^{}]* [,:] [^{}]* ) \}  # an object, a set, an array of PostgreSQL
    | \( (.* ,)? \s* ( '[^']*' | "[^"]*" ) \s* ,? \)     # a tuple, but not "(don't know)"
    | \w+ \( \s* [\[{(] .* \)                             # Python, such as set(['a'])
    | " \s* [\[{] .* "                                  # JSON within JSON
    """.replace("NUMBER", "(-?[0-9.]+(e[-+][0-9]+)?|nan|None|True|False)"),
    re.DOTALL | re.VERBOSE,
)

_POINT = r"\.0+$"
_WHOLE = re.compile(r"(-?[0-9]+)(\.0+)?", re.ASCII)

_ROUNDED = r"^-?[0-9]([.,][0-9]+)?[eE]\+[0-9]{2,}$|^[0-9]{16,}(\.0+)?$"
"""Matches texts that may be rounded whole numbers."""

_DIGITS = 15
"""Significant digits of a number in a workbook."""

_EVIDENCE = 4
"""Digits after the first `_DIGITS` ones that must all be 0 before ids count as rounded."""

_EXACT = 2.0**53
"""Smallest float that other whole numbers round to."""


class Intake:
    """The checks of the columns of one file or frame.

    Texts in `missing` mark missing values, unless they are `known` ids or labels. `warn` reports
    all changes of values. `first` is the number of the first row, if a column is a part.
    """

    def __init__(self, missing: Iterable[str] = MISSING) -> None:
        marks = [] if isinstance(missing, str) else list(missing)
        if isinstance(missing, str) or not all(isinstance(mark, str) for mark in marks):
            raise ParameterError("answers.missing-not-texts", missing=missing)
        self._marks = ["", *marks]
        self._changes: dict[tuple[str, str], dict[str, Any]] = {}

    def warn(self) -> None:
        """Warn once of each kind of change in each column."""
        for (code, _), fields in sorted(self._changes.items()):
            warnings.warn(ChangedValuesWarning(code, **fields), stacklevel=3)

    def ids(
        self, column: pa.ChunkedArray, name: str, known: Any = (), *, first: int | None = None
    ) -> pa.ChunkedArray:
        """Return clean ids, encoded; raise AnswerError if one is missing, rounded or a list."""
        ids = self.encoded(column, name, known, first=first or 0)
        check_ids(ids, name, first or 0, column)
        _check_not_rounded(ids, name, first or 0)
        return ids if first is not None else self._without_points(ids, name, known)

    def labels(self, column: pa.ChunkedArray, name: str, known: Any = ()) -> pa.ChunkedArray:
        """Return clean labels, encoded; 1 and 1.0 are one label if all are whole numbers."""
        if pa.types.is_nested(column.type):
            raise AnswerError("answers.cells-nested", name=name, type=column.type)
        labels = self.encoded(column, name, known)
        if not pa.types.is_dictionary(labels.type):
            return labels
        return self._without_points(labels, name, known, if_equal=True)

    def names(self, column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Return ids as `ids` changes them, but do not check them."""
        return decoded(self._without_points(self.encoded(column, name), name))

    def encoded(
        self, column: pa.ChunkedArray, name: str, known: Any = (), *, first: int = 0
    ) -> pa.ChunkedArray:
        """Return a clean column; texts are dictionary-encoded, with each value once."""
        if not (len(column) and pa.types.is_string(plain_type(column.type))):
            return column
        if pa.types.is_string_view(column.type):  # Arrow does not encode it
            column = column.cast(pa.string())
        rows = range(first, first + len(column))
        return self._clean(column.dictionary_encode(), name, known, rows)

    def sets(
        self, column: pa.ChunkedArray, name: str, known: Any, rows: Sequence[int] | None = None
    ) -> pa.ChunkedArray:
        """Return clean texts of sets, which may be lists, or clean labels of sets in `rows`."""
        marks: list[str] = []
        if rows is None:
            rows, marks = range(len(column)), self._marks[1:]
            column = pc.utf8_trim_whitespace(column.cast(pa.string()))
        if not len(column):
            return column
        return decoded(self._clean(column.dictionary_encode(), name, known, rows, marks))

    def _clean(
        self,
        column: pa.ChunkedArray,
        name: str,
        known: Any,
        rows: Sequence[int],
        set_marks: Sequence[str] | None = None,
    ) -> pa.ChunkedArray:
        """Return a clean column; sets have `set_marks` of missing values, and may be lists."""
        values = _values_of(column)
        texts: dict[int, str] = {}
        unclean = list(_cleaned(values))
        kept = _texts_of(known) if unclean else frozenset()
        written = {unicodedata.normalize("NFC", text): text for text in kept}
        for place, old, clean in unclean:
            if old in kept:
                continue
            new = clean if clean in kept else written.get(clean, clean)
            if set_marks is None and new not in self._marks and _STRUCTURED.fullmatch(new):
                row = rows[_row_of(column, place)]
                raise AnswerError("answers.cell-structured", row=row, name=name, value=new)
            if new != old:
                texts[place] = new
        visible = {place: text for place, text in texts.items() if text}
        self._note("answers.values-cleaned", name, column, visible, rows)
        possible = self._marks if set_marks is None else set_marks
        equal = pc.is_in(values, pa.array(possible, values.type)).to_numpy(zero_copy_only=False)
        marks = {place: values[place].as_py() for place in np.flatnonzero(equal).tolist()}
        marks |= {place: text for place, text in texts.items() if text in possible}
        if marks:
            kept = _texts_of(known)
            marks = {place: mark for place, mark in marks.items() if mark not in kept}
        nonempty = {place: mark for place, mark in marks.items() if mark}
        self._note("answers.marks-read-as-missing", name, column, nonempty, rows)
        return _replaced(column, {**texts, **dict.fromkeys(marks)})

    def _without_points(
        self, column: pa.ChunkedArray, name: str, known: Any = (), *, if_equal: bool = False
    ) -> pa.ChunkedArray:
        """Return ids without decimal points if all are whole numbers like 7.0 and none is known.

        They stay also `if_equal` and all remain different.
        """
        if pa.types.is_floating(column.type):
            whole = pc.all(pc.equal(column, pc.round(column))).as_py()
            return column.cast(pa.int64()) if whole else column
        if not pa.types.is_dictionary(column.type):
            return column
        values = _values_of(column)
        if not pc.any(pc.match_substring_regex(values, _POINT)).as_py():
            return column
        listed = values.to_pylist()
        found = [_WHOLE.fullmatch(text) for text in listed]
        texts = {place: whole[1] for place, whole in enumerate(found) if whole and whole[2]}
        if not all(found) or not _texts_of(known).isdisjoint(listed[place] for place in texts):
            return column
        if if_equal and len({whole[1] for whole in found if whole}) == len(listed):
            return column
        self._note("answers.ids-without-points", name, column, texts, range(len(column)))
        return _replaced(column, texts)

    def _note(
        self,
        code: str,
        name: str,
        column: pa.ChunkedArray,
        texts: Mapping[int, str],
        rows: Sequence[int],
    ) -> None:
        """Count the rows with values that have other `texts` now."""
        if not texts:
            return
        codes, values = dictionary_codes(column)
        changed = np.flatnonzero(np.isin(codes, list(texts)))
        first = int(changed[0])
        place = int(codes[first])
        old, new = values[place].as_py(), texts[place]
        shown = ascii(old) if unicodedata.normalize("NFC", old) == new else repr(old)
        fields = {"name": name, "value": shown, "text": new, "row": rows[first]}
        noted = self._changes.setdefault((code, name), {**fields, "count": 0})
        noted["count"] += len(changed)


def _values_of(column: pa.ChunkedArray) -> pa.Array:
    """Return the dictionary that all chunks of an encoded column share."""
    if not column.num_chunks:
        return pa.array([], column.type.value_type)
    return column.chunk(column.num_chunks - 1).dictionary


def _row_of(column: pa.ChunkedArray, place: int) -> int:
    return int(np.argmax(dictionary_codes(column)[0] == place))


def decoded(column: Any) -> Any:
    """Return a column or an array without dictionary encoding."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def distinct(column: pa.ChunkedArray) -> pa.Array:
    """Return the distinct values of a clean column, without missing ones."""
    return decoded(pc.unique(column).drop_null())


def check_ids(
    column: pa.ChunkedArray, name: str, first: int = 0, raw: pa.ChunkedArray | None = None
) -> None:
    """Raise AnswerError unless all ids are present and of a valid type; rows count from `first`."""
    if column.null_count:
        row = column.is_null().index(True).as_py()
        mark = mark_note(raw, row)
        raise AnswerError("answers.id-missing", row=first + row, name=name, mark=mark)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not is_id_type(kind):
        raise AnswerError("answers.ids-of-wrong-type", name=name, type=column.type)


def _cleaned(values: pa.Array) -> Iterator[tuple[int, str, str]]:
    """Yield the place, the text and its clean form of each value that may not be clean."""
    unclean = pc.match_substring_regex(values, _UNCLEAN)
    places = np.flatnonzero(unclean.to_numpy(zero_copy_only=False)).tolist()
    for place, old in zip(places, values.filter(unclean).to_pylist(), strict=True):
        new = unicodedata.normalize("NFC", old.translate(_INVISIBLE))
        yield place, old, new.strip().strip(_JOINERS).strip()


def _texts_of(known: Any) -> frozenset[str]:
    """Return the known ids or labels that are texts."""
    listed = known.to_pylist() if isinstance(known, pa.Array) else known or ()
    return frozenset(one for one in listed if isinstance(one, str))


def _replaced(column: pa.ChunkedArray, texts: Mapping[int, str | None]) -> pa.ChunkedArray:
    """Return a dictionary-encoded column with other texts at some places of the dictionary."""
    if not texts:
        return column
    codes, values = dictionary_codes(column)
    listed = values.to_pylist()
    for place, text in texts.items():
        listed[place] = text
    distinct = pa.array(listed, values.type).dictionary_encode()
    places = np.append(distinct.indices.fill_null(-1).to_numpy(zero_copy_only=False), -1)[codes]
    rows = pa.array(places, pa.int32(), mask=places < 0)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(rows, distinct.dictionary)])


def _check_not_rounded(column: pa.ChunkedArray, name: str, first: int) -> None:
    """Raise AnswerError if ids are numbers that a workbook or a float has rounded."""
    if pa.types.is_floating(column.type):
        rounded = pc.greater_equal(pc.abs(column), _EXACT)
        if pc.any(rounded).as_py():
            row = rounded.index(True).as_py()
            raise _rounded(name, first + row, column[row].as_py())
        return
    if pa.types.is_integer(column.type):
        if (pc.max(column).as_py() or 0) < 10**_DIGITS:
            return
        column = column.cast(pa.string()).dictionary_encode()
    if not pa.types.is_dictionary(column.type):
        return
    values = _values_of(column)
    long = values.filter(pc.match_substring_regex(values, _ROUNDED)).to_pylist()
    certain = [text for text in long if not text.isdigit()]
    zeros = all(text.endswith("0" * (len(text) - _DIGITS)) for text in long)
    evidence = sum(len(text) - _DIGITS for text in long)
    floats = len(long) >= 3 and all(len(text) > 17 and _is_float(text) for text in long)
    if certain or floats or (long and zeros and evidence >= _EVIDENCE):
        value = (certain or long)[0]
        raise _rounded(name, first + _row_of(column, values.index(value).as_py()), value)


def _is_float(digits: str) -> bool:
    """Return whether digits are those of a float, as JavaScript writes them."""
    return f"{Decimal(repr(float(digits))):f}" == digits


def _rounded(name: str, row: int, value: Any) -> AnswerError:
    return AnswerError("answers.id-rounded", row=row, name=name, value=value)
