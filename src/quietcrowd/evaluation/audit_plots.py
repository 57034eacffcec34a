"""Pictures of what an audit found."""

from __future__ import annotations

from pathlib import Path

from quietcrowd.auditing.report import AuditReport
from quietcrowd.evaluation.plots import check_picture, new_figure, save_with_legend

__all__ = ["plot_audit"]


def plot_audit(report: AuditReport, path: Path) -> None:
    """Draw delta against epsilon, and what is claimed and stated.

    Raises
    ------
    ParameterError, FileNotFoundError, MissingExtraError
        As `check_picture`.
    """
    check_picture(path)
    figure = new_figure()
    axes = figure.add_subplot()
    report.draw(axes)
    save_with_legend(figure, [axes], path)
