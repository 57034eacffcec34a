"""Which column of a file is meant: its own names, and those that other programs give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from quietcrowd.exceptions import FormatError

__all__ = ["check_once", "resolve"]

_ALIASES: Mapping[str, tuple[str, ...]] = {
    "task": ("taskId",),
    "worker": ("performer", "workerId"),
    "label": ("answer",),
}
"""Names in files of answers that crowd-kit's loaders know too."""

_TRUTH_ALIASES = ("truth", "true_label", "agg_label")
"""Names of the label in files without workers: those of `infer` and of crowd-kit."""


def resolve(path: Path, names: Sequence[str], wanted: Sequence[str]) -> dict[str, str]:
    """Return for each wanted column the one of the file that is meant.

    Parameters
    ----------
    path : Path
        Of the file, for messages.
    names : sequence of str
        Columns of the file.
    wanted : sequence of str
        Names that are asked for. ``task``, ``worker`` and ``label`` may stand under another
        name, if there is one of those alone; without a worker a label may be called ``truth``.

    Returns
    -------
    dict of str to str
        Without those that are not there.

    Raises
    ------
    FormatError
        Where a wanted column is there more than once, or two others could be meant.
    """
    found = {}
    for name in wanted:
        others = _ALIASES.get(name, ())
        if name == "label" and "worker" not in wanted:
            others = _TRUTH_ALIASES
        meant = [name] if name in names else [other for other in others if other in names]
        if len(meant) > 1:
            raise FormatError(
                f"{path}: {' and '.join(map(repr, meant))} could both be the {name}: name the "
                "columns (on the command line: --columns)"
            )
        if meant:
            found[name] = meant[0]
    check_once(path, names, list(found.values()))
    return found


def check_once(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise FormatError where a wanted column is there more than once."""
    for name in wanted:
        if names.count(name) > 1:
            raise FormatError(
                f"{path}: {names.count(name)} columns are called {name!r}: leave one of them"
            )
