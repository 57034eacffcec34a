"""What a server says where it refuses, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quietcrowd.campaign.terms.plain_text import one_line

if TYPE_CHECKING:
    import httpx

__all__ = ["refusal"]

_MOST = 600


def refusal(response: httpx.Response) -> str:
    """Return why a request was refused: of a problem document (RFC 9457), or the status.

    Where the document names the rules that are broken, nothing else is told.
    """
    try:
        problem = response.json()
        general = [problem["title"], problem["detail"]]
        broken = [f"{one['pointer']} {one['message']}" for one in problem.get("errors", [])]
        told = (part.strip().removesuffix(".") for part in broken or general)
        return one_line("; ".join(told))[:_MOST]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"status {response.status_code}"
