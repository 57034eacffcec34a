"""How near to the truth the methods come under noise: research/docs/truth-under-noise.md."""

import os
import time

import pytest

from own_process import HERE
from under_noise.page import write
from under_noise.parts import PARTS
from under_noise.records import Kept, source_hash
from under_noise.rivals import LABEL_METHODS, NUMBER_METHODS, SUBJECT

REPORT = HERE.parent / "research" / "docs" / "truth-under-noise.md"
KEPT = HERE.parent / ".benchmarks" / "truth"
"""Records by the code that made them: who stops a long run takes it up again."""


@pytest.mark.skipif(
    SUBJECT not in LABEL_METHODS or SUBJECT not in NUMBER_METHODS,
    reason=f"there is no method {SUBJECT}",
)
@pytest.mark.skipif("QUIETCROWD_DATA" not in os.environ, reason="QUIETCROWD_DATA is not set")
def test_truth_under_noise():
    """Run all parts, and write the page after each of them."""
    kept, sections, start = Kept(KEPT / source_hash()), [], time.process_time()
    for part in PARTS.values():
        sections.append(part(None, kept, SUBJECT))
        write(REPORT, sections, SUBJECT, time.process_time() - start)
