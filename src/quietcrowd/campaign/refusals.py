"""What a server says where it refuses, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quietcrowd.campaign.plain_text import one_line

if TYPE_CHECKING:
    import httpx

__all__ = ["refusal"]

_MOST = 600


def refusal(response: httpx.Response) -> str:
    """Return why a request was refused: of a problem document (RFC 9457), or the status."""
    try:
        problem = response.json()
        told = [problem["title"], problem["detail"]]
        told += [f"{one['pointer']} {one['message']}".strip() for one in problem.get("errors", [])]
        return one_line("; ".join(told))[:_MOST]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"status {response.status_code}"
