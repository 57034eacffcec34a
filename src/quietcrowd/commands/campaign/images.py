"""Images that a file of tasks names, and their upload.

The column ``image`` contains file names, in the directory of the task file or below it, and
``image_alt`` a description. Uploaded tasks name images by their hashes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from time import sleep
from typing import TYPE_CHECKING, Any

from attrs import Factory, define, evolve, field

from quietcrowd.campaign.terms.canonical import json_in_order
from quietcrowd.campaign.terms.images import name_image, plain_image
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.settings import MAX_IMAGE, MAX_IMAGE_BYTES, MAX_IMAGES
from quietcrowd.campaign.terms.tasks import TaskRow
from quietcrowd.commands.campaign.client import checked
from quietcrowd.commands.printing import counted
from quietcrowd.exceptions import FormatError

if TYPE_CHECKING:
    import httpx

_COLUMN, _ALT = "image", "image_alt"

_LONGEST_FILE = 64 * MAX_IMAGE
"""Maximum bytes of a file that is read; no metadata is that long."""

_LATER = frozenset({429, 503})
_TRIES = 60


@define(kw_only=True)
class TaskImages:
    """Images of a file of tasks, by hash and without metadata."""

    tasks: Path
    contents: dict[str, bytes] = field(factory=dict, repr=False)
    _hashes: dict[str, str] = Factory(dict)

    @classmethod
    def read(cls, tasks: Path, rows: Sequence[TaskRow]) -> tuple[TaskImages, list[TaskRow]]:
        """Return the images of the tasks, and the tasks with hashes in place of file names."""
        images = cls(tasks=tasks)
        return images, [images._named(row) for row in rows]

    @property
    def size(self) -> int:
        """Total bytes of the images."""
        return sum(map(len, self.contents.values()))

    @property
    def summary(self) -> str:
        """Description of the images and of the removed metadata."""
        size = f"{self.size / 2**20:,.1f} MiB"
        return (
            f"{counted(len(self.contents), 'image')}, {size}, without the places, times and names "
            "that cameras and programs write into files. Every worker's device fetches all of them."
        )

    def _named(self, row: TaskRow) -> TaskRow:
        data: dict[str, Any] = json.loads(row.data)
        name, alt = data.get(_COLUMN), data.get(_ALT, "")
        if not isinstance(name, str) or not isinstance(alt, str):
            return row
        if not name and alt:
            raise self._refused(row, "it has words in image_alt for an image that is not there")
        data.pop(_ALT, None)
        if name:
            data[_COLUMN] = name_image(self._hash(row, name), alt)
        else:
            del data[_COLUMN]
        return evolve(row, data=json_in_order(data))

    def _hash(self, row: TaskRow, name: str) -> str:
        if name not in self._hashes:
            content = self._content(row, name)
            self._hashes[name] = hashlib.sha256(content).hexdigest()
            self.contents[self._hashes[name]] = content
            if len(self.contents) > MAX_IMAGES or self.size > MAX_IMAGE_BYTES:
                raise self._refused(
                    row,
                    f"up to here there are {len(self.contents):,} images of {self.size:,} bytes; "
                    f"a campaign has at most {MAX_IMAGES:,} of {MAX_IMAGE_BYTES:,} bytes together",
                )
        return self._hashes[name]

    def _content(self, row: TaskRow, name: str) -> bytes:
        place = PurePosixPath(PureWindowsPath(name).as_posix())
        spelled = one_line(name)
        if PureWindowsPath(name).anchor or ".." in place.parts:
            raise self._refused(
                row,
                f"{spelled!r} is not in the folder of the file of tasks: put the image there, and "
                "write its name",
            )
        content = _read(self.tasks.parent / place)
        if content is None:
            raise self._refused(
                row,
                f"there is no file {spelled!r} beside the file of tasks, or it cannot be read; a "
                "column of another name is shown as text",
            )
        if len(content) > _LONGEST_FILE:
            raise self._refused(row, f"{spelled!r} is larger than {_LONGEST_FILE:,} bytes")
        return self._plain(row, spelled, content)

    def _plain(self, row: TaskRow, name: str, content: bytes) -> bytes:
        try:
            cleaned = plain_image(content)
        except ValueError as error:
            raise self._refused(row, f"{name!r}: {error}") from None
        if len(cleaned) > MAX_IMAGE:
            raise self._refused(
                row,
                f"{name!r} has {len(cleaned):,} bytes; an image has at most {MAX_IMAGE:,}: make it "
                "smaller",
            )
        return cleaned

    def _refused(self, row: TaskRow, why: str) -> FormatError:
        return FormatError(
            "commands.task-row-invalid", tasks=self.tasks, row=row.row, column=_COLUMN, reason=why
        )


def _read(file: Path) -> bytes | None:
    try:
        if not file.is_file():
            return None
        with file.open("rb") as opened:
            return opened.read(_LONGEST_FILE + 1)
    except (OSError, ValueError):
        return None


def upload_images(client: httpx.Client, campaign: str, images: Mapping[str, bytes]) -> None:
    """Upload images, by hash, to a draft one after the other; wait if the server is busy."""
    headers = {"Content-Type": "application/octet-stream"}
    for sha256, content in images.items():
        url = f"/campaigns/{campaign}/images/{sha256}"
        for _ in range(_TRIES):
            answer = client.put(url, content=content, headers=headers)
            if answer.status_code not in _LATER:
                break
            sleep(1)
        checked(answer)
