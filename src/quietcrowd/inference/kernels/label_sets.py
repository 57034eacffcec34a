"""What kernels of sets of labels and their callers share."""

from __future__ import annotations

__all__ = ["SHARE_ONE"]

SHARE_ONE = 2.0**30
"""What a probability of 1 is stored as in what is believed of workers."""
