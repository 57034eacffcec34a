"""Write the table of confusable characters of UTS #39 that both devices read.

``python -m tests.campaign.terms.write_confusables`` asks ICU 72, which has the data of Unicode 15.0
(Debian 12: package libicu72), for the prototype of every code point. Another version of Unicode
puts other tasks together: both devices then disagree with those of the release before.
"""

from __future__ import annotations

import ctypes
import json
import unicodedata
from collections.abc import Callable

import numpy as np

from quietcrowd.campaign.terms.near_copies import TABLE

ICU, LIBRARY = 72, "libicui18n.so.72"


def icu_skeletons() -> Callable[[str], str]:
    """Return ICU's function from a text to its skeleton; OSError without the library."""
    library = ctypes.CDLL(LIBRARY)
    status = ctypes.c_int(0)
    library.uspoof_open_72.restype = ctypes.c_void_p
    checker = ctypes.c_void_p(library.uspoof_open_72(ctypes.byref(status)))

    def skeleton(text: str) -> str:
        encoded, failed = text.encode(), ctypes.c_int(0)
        room = ctypes.create_string_buffer(64 * len(encoded) + 64)
        size = library.uspoof_getSkeletonUTF8_72(
            *(checker, 0, encoded, len(encoded), room, len(room), ctypes.byref(failed))
        )
        assert failed.value <= 0  # above are errors, below are warnings
        return room.raw[:size].decode()

    return skeleton


def prototypes() -> dict[str, str]:
    """Return what each confusable character looks like; those that NFD takes apart are not listed.

    The skeleton of a text is that of its NFD, character by character.
    """
    skeleton = icu_skeletons()
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    whole = (one for one in letters if unicodedata.normalize("NFD", one) == one)
    return {one: looks for one in whole if (looks := skeleton(one)) != one}


def written() -> str:
    """Return the file with its table written anew."""
    groups: dict[str, list[int]] = {}
    for letter, prototype in sorted(prototypes().items()):
        groups.setdefault(prototype, []).append(ord(letter))
    words = []
    for prototype, codes in sorted(groups.items()):
        words.append("=" + ".".join(np.base_repr(ord(one), 36).lower() for one in prototype))
        words += [np.base_repr(step, 36).lower() for step in np.diff(codes, prepend=0)]
    document = json.loads(TABLE.read_text("utf-8")) | {"table": " ".join(words)}
    return json.dumps(document, indent=1) + "\n"


if __name__ == "__main__":
    TABLE.write_text(written(), "utf-8")
