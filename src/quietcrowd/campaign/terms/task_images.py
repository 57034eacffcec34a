"""The column ``image`` of a file of tasks: names of files in place of hashes.

``image_alt`` describes the image. Uploaded tasks name images by their hashes.
"""

import json
from collections.abc import Callable
from typing import Any

from attrs import evolve

from quietcrowd.campaign.terms.canonical import json_in_order
from quietcrowd.campaign.terms.images import name_image
from quietcrowd.campaign.terms.tasks import TaskRow

COLUMN, ALT = "image", "image_alt"


def with_image_hash(row: TaskRow, hash_of: Callable[[str], str]) -> TaskRow:
    """Return a task with the hash of the file that it names; ValueError for an alt text alone."""
    data: dict[str, Any] = json.loads(row.data)
    name, alt = data.get(COLUMN), data.get(ALT, "")
    if not isinstance(name, str) or not isinstance(alt, str):
        return row
    if not name and alt:
        raise ValueError("image_alt describes an image, but image is empty")
    data.pop(ALT, None)
    if name:
        data[COLUMN] = name_image(hash_of(name), alt)
    else:
        del data[COLUMN]
    return evolve(row, data=json_in_order(data))
