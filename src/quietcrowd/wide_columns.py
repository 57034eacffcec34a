"""Roles of the columns of a wide table: ids, answers, options and times.

A row is a worker and a column a question, or a row is a task and a column a worker. Exports of
known surveys, and columns with the names of answers, need no names; otherwise the caller names ids.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from attrs import frozen

from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.frames import ALIASES
from quietcrowd.header_rows import ImportIds
from quietcrowd.validation import did_you_mean

Options: TypeAlias = Mapping[str, str]
"""The columns of a question's options, by label."""

Questions: TypeAlias = Mapping[str, Options | None]
"""The columns of each question's options, or None if one column has the question's name."""


@frozen(kw_only=True)
class Survey:
    """Columns in the exports of a survey program, as regular expressions.

    Each mark must match a column of the file, and `first` the first column. The first of `workers`
    that exists has the ids of respondents; without one, rows are numbered. `others` have no
    answers. Responses with some cells are `rejected`: the column, the cells, and why. If options
    have columns, the text `options` is between a question and an option.
    """

    marks: tuple[str, ...] = ()
    first: str = ".*"
    workers: tuple[str, ...]
    others: str
    time: str = ""
    rejected: tuple[tuple[str, str, str], ...] = ()
    options: str = ""


_PERSON = r"(?i:prolific_?(?:pid|id))"
_RESPONSE = "ResponseId|_recordId|Response ID"
_DEVICE = "start|end|today|deviceid|username|phonenumber|simserial|subscriberid|audit"

QUALTRICS = Survey(
    marks=(
        _RESPONSE,
        "(?:[Ss]tart|[Ee]nd|[Rr]ecorded) ?Date",
        "[Ff]inished|[Ss]tatus|[Pp]rogress|Response Type",
    ),
    workers=(_PERSON, _RESPONSE),
    others=rf"(?:[Ss]tart|[Ee]nd|[Rr]ecorded) ?Date|[Ss]tatus|Response Type|[Ii][Pp] ?Address"
    rf"|[Pp]rogress|[Ff]inished|[Dd]uration(?: \(in seconds\))?|{_RESPONSE}|[Rr]ecipient[\w ]+"
    r"|[Ee]xternal[\w ]*Reference|[Ll]ocation ?(?:Latitude|Longitude)|[Dd]istribution ?Channel"
    r"|[Uu]ser ?Language|Q_[A-Za-z]\w+|.* - Text"
    r"|.*_(?:TEXT|NPS_GROUP|DO(?:_\w+)?|First Click|Last Click|Page Submit|Click Count)",
    time="[Rr]ecorded ?Date|[Ee]nd ?Date",
    rejected=(
        ("[Ff]inished", "0|[Ff]alse|FALSE", "responses that were not finished"),
        ("[Ss]tatus|Response Type", "1|2|9|17|.*(?:Preview|Test)", "previews and tests"),
    ),
)

_FORMS = Survey(
    first="Timestamp|Horodateur|Zeitstempel|Marca temporal",
    workers=(
        _PERSON,
        "Email [Aa]ddress|Adresse e-mail|E-Mail-Adresse|Dirección de correo electrónico"
        "|Username|Nom d.utilisateur|Nutzername|Nombre de usuario",
    ),
    others="Timestamp|Horodateur|Zeitstempel|Marca temporal",
    time="Timestamp|Horodateur|Zeitstempel|Marca temporal",
)

SURVEYS = (
    QUALTRICS,
    Survey(  # KoboToolbox
        marks=("_submission_time", "_id|_uuid"),
        workers=(_PERSON, "_id", "_uuid"),
        others=rf"_.*|formhub/.*|meta/.*|{_DEVICE}",
        time="_submission_time",
        rejected=(
            ("_validation_status", r"(?i:.*not.approved)", "responses that were not approved"),
        ),
        options="/",
    ),
    Survey(  # ODK Central
        marks=("SubmissionDate", "KEY"),
        workers=(_PERSON, "KEY"),
        others=r"SubmissionDate|KEY|PARENT_KEY|SET-OF-.*|Submitter(?:ID|Name)|Attachments\w+|Status"
        rf"|ReviewState|DeviceID|Edits|FormVersion|meta-.*|{_DEVICE}",
        time="SubmissionDate",
        rejected=(("ReviewState", "rejected", "responses that were rejected"),),
        options="/",
    ),
    Survey(  # a quiz of Google Forms
        marks=("Total score|Score",),
        first=_FORMS.first,
        workers=_FORMS.workers,
        others=rf"{_FORMS.others}|Total score|Score|.* \[(?:Score|Feedback)\]",
        time=_FORMS.time,
    ),
    _FORMS,
    Survey(  # a study of Prolific, in any table
        marks=(_PERSON,),
        workers=(_PERSON,),
        others="(?i:(?:study|session)_?id)",
    ),
)
"""The known surveys, the most specific first."""

_UNNAMED = r"\s*|Unnamed: \d+"
_QUESTION = re.compile(r"(?:\d+_)?QID\d+(?:#\d+)?(?:_\d+)*(?:_TEXT)?")
"""Import ids of questions in Qualtrics, also in loops and matrices."""


@frozen(kw_only=True)
class Layout:
    """Roles of columns.

    The column `id` names workers if rows are `by_worker`, otherwise tasks, and the other way round
    for `questions`. Without it workers are numbered by row.
    """

    id: str | None
    by_worker: bool
    questions: Questions
    others: tuple[str, ...]
    survey: Survey | None = None


def find_layout(
    names: Sequence[str],
    *,
    worker: str | None = None,
    task: str | None = None,
    questions: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    import_ids: ImportIds | None = None,
) -> Layout:
    """Return the roles of columns; raise unless they are certain.

    `questions` and `ignore` are names or patterns with ``*`` and ``?``. Raises ParameterError if a
    parameter does not fit the columns, and AnswerError if ids or answers remain uncertain.
    """
    if worker is not None and task is not None:
        raise ParameterError("wide.two-ids")
    if set(ALIASES) <= set(names):
        raise AnswerError("wide.long-table")
    for name in (worker, task):
        if name is not None and name not in names:
            raise _unknown(name, names)
    survey = None if task is not None else _survey(names, import_ids)
    if worker is None and task is None and survey is None:
        worker, task = _named_ids(names)
    if task is not None and questions is not None:
        raise ParameterError("wide.questions-with-task")
    ignored = set(_chosen(ignore, names))
    id_name = worker or task or _id_in(names, survey, ignored)
    patterns = [_UNNAMED] if survey is None else [_UNNAMED, survey.others, *survey.workers]
    others = {name for name in names if any(matches(one, name) for one in patterns)}
    others |= {*ignored, *([] if id_name is None else [id_name])}
    known = _questions([name for name in names if name not in others], survey, import_ids or {})
    if questions is not None:
        wanted = _chosen(questions, list(known), names)
        rest = [name for name in known if name not in wanted]
        if survey is None and id_name is None and rest:
            raise AnswerError("wide.ids-or-not", columns=", ".join(map(repr, rest)))
        known = {name: known.get(name) for name in wanted}
    elif survey is None and id_name is None:
        raise AnswerError("wide.ids-needed", columns=", ".join(map(repr, names)))
    if not known:
        raise AnswerError("wide.no-answers", columns=", ".join(map(repr, names)))
    used = {id_name}.union(*((name, *(known[name] or {}).values()) for name in known))
    return Layout(
        id=id_name,
        by_worker=task is None,
        questions=known,
        others=tuple(name for name in names if name not in used),
        survey=survey,
    )


def matches(pattern: str, name: str) -> bool:
    """Return whether a regular expression matches a whole name."""
    return re.fullmatch(pattern, name, re.DOTALL) is not None


def _survey(names: Sequence[str], import_ids: ImportIds | None) -> Survey | None:
    if import_ids:
        return QUALTRICS
    for one in SURVEYS:
        marked = all(any(matches(mark, name) for name in names) for mark in one.marks)
        if marked and names and matches(one.first, names[0]):
            return one
    return None


def _named_ids(names: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the column of workers or of tasks, if only one of them has a default name."""
    workers, tasks = (
        [name for name in names if name == role or name in ALIASES[role]]
        for role in ("worker", "task")
    )
    if len(workers) + len(tasks) != 1:
        return None, None
    return (workers[0], None) if workers else (None, tasks[0])


def _id_in(names: Sequence[str], survey: Survey | None, ignored: Iterable[str]) -> str | None:
    for pattern in () if survey is None else survey.workers:
        found = [name for name in names if matches(pattern, name) and name not in ignored]
        if len(found) > 1:
            raise AnswerError("wide.ids-ambiguous", columns=" and ".join(map(repr, found)))
        if found:
            return found[0]
    return None


def _questions(names: Sequence[str], survey: Survey | None, import_ids: ImportIds) -> Questions:
    """Return the questions in these columns, with the columns of their options."""
    if import_ids:
        return _qualtrics_questions(names, import_ids)
    between = "" if survey is None else survey.options
    found: dict[str, dict[str, str] | None] = {}
    for name in names:
        question, _, option = name.rpartition(between) if between else ("", "", name)
        if question in names:
            held = found.get(question) or {}
            found[question] = {**held, option: name}
        else:
            found.setdefault(name, None)
    return dict(found)


def _qualtrics_questions(names: Sequence[str], import_ids: ImportIds) -> Questions:
    found: dict[str, dict[str, str] | None] = {}
    for name in names:
        value = import_ids.get(name, {})
        choice = value.get("choiceId")
        if not _QUESTION.fullmatch(str(value.get("ImportId", ""))):
            continue
        if choice is None:
            found[name] = None
            continue
        question = name.removesuffix(f"_{choice}")
        if question == name:  # a text
            question = name.rpartition(" - ")[0].removesuffix(" - Selected Choice") or name
        found[question] = {**(found.get(question) or {}), str(choice): name}
    return dict(found)


def _chosen(patterns: Iterable[str], names: Sequence[str], others: Sequence[str] = ()) -> list[str]:
    """Return the names that match a pattern, and columns that a pattern names exactly."""
    found: list[str] = []
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        like = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
        exact = pattern in names or pattern in others
        matched = [pattern] if exact else [name for name in names if matches(like, name)]
        if not matched:
            raise _unknown(pattern, [*names, *others])
        found += matched
    return list(dict.fromkeys(found))


def _unknown(name: str, names: Sequence[str]) -> ParameterError:
    return ParameterError(
        "wide.column-missing",
        name=name,
        columns=", ".join(map(repr, dict.fromkeys(names))),
        suggestion=did_you_mean(name, names),
    )
