"""Write the table of confusable characters of UTS #39 that both devices read.

``python -m tests.campaign.terms.write_confusables`` asks ICU 72, which has the data of Unicode 15.0
(Debian 12: package libicu72), for the prototype of every code point. Another version of Unicode
puts other tasks together: both devices then disagree with those of the release before.
"""

from __future__ import annotations

import ctypes
import textwrap
import unicodedata
from collections.abc import Callable

import numpy as np

from quietcrowd.campaign.terms.near_copies import TABLE

ICU, LIBRARY = 72, "libicui18n.so.72"

HEADER = """\
// Confusable characters of UTS #39, Unicode 15.0.0: written by
// python -m tests.campaign.terms.write_confusables, and read by Python as well.
//
// Each word that begins with = is a prototype, its code points in base 36. The words behind it are
// the characters that look like it: the first as a code point, each other one as the difference to
// the one before.
//
// COPYRIGHT AND PERMISSION NOTICE
//
// Copyright (c) 1991-2022 Unicode, Inc. All rights reserved.
// Distributed under the Terms of Use in www.unicode.org/copyright.html.
//
// Permission is hereby granted, free of charge, to any person obtaining a copy of the Unicode data
// files and any associated documentation (the "Data Files") or Unicode software and any associated
// documentation (the "Software") to deal in the Data Files or Software without restriction,
// including without limitation the rights to use, copy, modify, merge, publish, distribute, and/or
// sell copies of the Data Files or Software, and to permit persons to whom the Data Files or
// Software are furnished to do so, provided that either (a) this copyright and permission notice
// appear with all copies of the Data Files or Software, or (b) this copyright and permission notice
// appear in associated Documentation.
//
// THE DATA FILES AND SOFTWARE ARE PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
// IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR
// PURPOSE AND NONINFRINGEMENT OF THIRD PARTY RIGHTS. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR
// HOLDERS INCLUDED IN THIS NOTICE BE LIABLE FOR ANY CLAIM, OR ANY SPECIAL INDIRECT OR CONSEQUENTIAL
// DAMAGES, OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
// ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE
// USE OR PERFORMANCE OF THE DATA FILES OR SOFTWARE.
//
// Except as contained in this notice, the name of a copyright holder shall not be used in
// advertising or otherwise to promote the sale, use or other dealings in these Data Files or
// Software without prior written authorization of the copyright holder.

export const CONFUSABLES = `
"""
FOOTER = "\n`;\n"


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
    """Return the file."""
    groups: dict[str, list[int]] = {}
    for letter, prototype in sorted(prototypes().items()):
        groups.setdefault(prototype, []).append(ord(letter))
    words = []
    for prototype, codes in sorted(groups.items()):
        words.append("=" + ".".join(np.base_repr(ord(one), 36).lower() for one in prototype))
        words += [np.base_repr(step, 36).lower() for step in np.diff(codes, prepend=0)]
    listed = textwrap.fill(" ".join(words), 100, break_long_words=False, break_on_hyphens=False)
    return HEADER + listed + FOOTER


if __name__ == "__main__":
    TABLE.write_text(written(), "utf-8")
