"""Label Studio's labeling configuration, the XML document that defines a project's question."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from quietcrowd.domains import MAX_LABELS, Categorical, Domain, FiniteDomain, Interval, Ordinal
from quietcrowd.exceptions import FormatError, ParameterError, QuietcrowdError
from quietcrowd.formats.files import replacing
from quietcrowd.formats.safe_xml import parse_xml
from quietcrowd.report_domains import OrNull

_SHOWING = frozenset(
    {
        *("View", "Header", "Style", "Text", "HyperText", "Image", "Audio", "AudioPlus", "Video"),
        *("Paragraphs", "Table", "List", "Collapse", "Panel", "Markdown"),
    }
)
"""Tags that only display."""

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read_label_config(path: Path) -> Domain:
    """Return the domain of the answers to the only question of a configuration.

    Choices are labels, and so are the two sides of ``Pairwise``. Ratings, and numbers with a
    ``step``, are levels; numbers without one form an interval from ``min`` to ``max``.
    """
    root = _parsed(path)
    asking = [tag for tag in root.iter() if tag.tag not in _SHOWING and tag.tag != "Choice"]
    for tag in asking:
        if tag.tag not in _QUESTIONS:
            raise FormatError(
                "formats.question-unsupported",
                path=path,
                tag=tag.tag,
                questions=", ".join(_QUESTIONS),
            )
    if root.tag != "View" or len(asking) != 1:
        names = ", ".join(tag.get("name", tag.tag) for tag in asking) or "none"
        raise FormatError("formats.one-question-needed", path=path, names=names)
    try:
        return _QUESTIONS[asking[0].tag](asking[0])
    except QuietcrowdError as error:
        raise FormatError(
            "formats.config-tag-invalid", path=path, tag=asking[0].tag, error=error
        ) from None


def _parsed(path: Path) -> Xml.Element:
    try:
        return parse_xml(path.read_bytes())
    except ValueError as error:
        raise FormatError("formats.config-invalid", path=path, error=error) from None


def _choices(tag: Xml.Element) -> Domain:
    if tag.get("choice", "single") not in ("single", "single-radio"):
        raise FormatError("formats.config-choice-not-single")
    if tag.get("value") is not None:
        raise FormatError("formats.config-choices-differ")
    if any(len(choice) for choice in tag):
        raise FormatError("formats.config-choice-nested")
    labels = [choice.get("alias") or choice.get("value") for choice in tag]
    if None in labels:
        raise FormatError("formats.config-choice-without-value")
    return Categorical([label for label in labels if label is not None])


def _rating(tag: Xml.Element) -> Domain:
    largest = _number(tag, "maxRating", "5")
    if largest != int(largest) or not 1 <= largest <= MAX_LABELS:
        raise FormatError(
            "formats.config-rating-out-of-range", max_labels=MAX_LABELS, largest=largest
        )
    return Ordinal(range(1, int(largest) + 1))


def _numbers(tag: Xml.Element) -> Domain:
    low, high = _number(tag, "min"), _number(tag, "max")
    if tag.get("step") is None:
        return Interval(low=low, high=high)
    first, step = _exact(low), _exact(_number(tag, "step"))
    steps = (_exact(high) - first) / step if step > 0 else Fraction(0)
    if steps.denominator != 1 or not 1 <= steps < MAX_LABELS:
        raise FormatError("formats.config-step-invalid", max_labels=MAX_LABELS - 1)
    levels = [float(first + step * place) for place in range(int(steps) + 1)]
    return Ordinal([int(level) if level.is_integer() else level for level in levels])


def _number(tag: Xml.Element, name: str, usual: str | None = None) -> float:
    text = tag.get(name, usual)
    try:
        number = float("" if text is None else text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FormatError("formats.config-number-invalid", name=name, text=text)
    return number


def _exact(number: float) -> Fraction:
    """Convert via the shortest decimal representation, as it is in the file."""
    return Fraction(repr(number))


_QUESTIONS: Mapping[str, Callable[[Xml.Element], Domain]] = {
    "Choices": _choices,
    "Rating": _rating,
    "Number": _numbers,
    "Pairwise": lambda _: Categorical(["left", "right"]),
}
"""Tags with exactly one answer."""


def common_texts(data: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the fields with text in every task and names of word characters, except ``task``."""
    common: dict[str, None] | None = None
    for fields in data:
        texts = [name for name, value in fields.items() if isinstance(value, str)]
        common = dict.fromkeys(texts if common is None else [one for one in common if one in texts])
    return [name for name in common or () if name != "task" and re.fullmatch(r"\w+", name)]


def write_label_config(
    path: Path, domain: Domain | None, labels: Sequence[Any] = (), shown: Sequence[str] = ()
) -> None:
    """Write the configuration of a project for the output of `label_studio`."""
    root = Xml.Element("View")
    Xml.SubElement(root, "Text", name="task", value="$task")
    for place, name in enumerate(shown, start=1):
        Xml.SubElement(root, "Text", name=f"shown{place}", value=f"${name}")
    root.append(_question(domain, labels))
    for text in (value for tag in root.iter() for value in tag.attrib.values()):
        if _NO_XML.search(text):
            raise ParameterError("formats.not-xml-text", path=path, text=text)
    Xml.indent(root)
    with replacing(path) as temporary:
        temporary.write_text(f"{Xml.tostring(root, encoding='unicode')}\n", encoding="utf-8")


def _question(domain: Domain | None, labels: Sequence[Any]) -> Xml.Element:
    if isinstance(domain, OrNull):
        domain = domain.domain
    if isinstance(domain, FiniteDomain):
        labels = domain.labels
    names = [str(label) for label in labels if isinstance(label, str | bool)]
    if not names:
        return Xml.Element("Number", {"name": "label", "toName": "task", **_bounds(domain)})
    tag = Xml.Element("Choices", name="label", toName="task", choice="single")
    for name in names:
        Xml.SubElement(tag, "Choice", value=name)
    return tag


def _bounds(domain: Domain | None) -> dict[str, str]:
    if isinstance(domain, Interval):
        return {"min": _spelled(domain.low), "max": _spelled(domain.high)}
    if not isinstance(domain, FiniteDomain):
        return {}
    levels = sorted(float(label) for label in domain.labels)
    bounds = {"min": _spelled(levels[0]), "max": _spelled(levels[-1])}
    steps = {_exact(after) - _exact(before) for before, after in pairwise(levels)}
    return {**bounds, "step": _spelled(float(steps.pop()))} if len(steps) == 1 else bounds


def _spelled(number: float) -> str:
    return repr(int(number) if number.is_integer() else number)
