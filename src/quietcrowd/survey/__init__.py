"""Surveys: shares of answers, and means, from reports.

Truth inference asks which answer is right; a survey asks how many people give each answer. Both
start from the same reports. See ``research/docs/theory/surveys.md``.
"""

from quietcrowd.survey.means import estimate_means
from quietcrowd.survey.shares import estimate_shares

__all__ = ["estimate_means", "estimate_shares"]
