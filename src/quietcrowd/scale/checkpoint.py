"""Checkpoints: the state of an inference run in a file, from which a stopped run continues."""

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats.files import check_folder, replacing
from quietcrowd.inference.loop import LoopProgress
from quietcrowd.inference.method import TruthInference
from quietcrowd.inference.model import State

FORMAT, VERSION = "quietcrowd-checkpoint", 1
NESTED = "."

_UNREADABLE = (
    AttributeError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
)


@frozen(kw_only=True)
class Checkpoint:
    """A checkpoint file, and the run that it belongs to, by fingerprints.

    `example` returns a state with the fields, dtypes and shapes that a loaded state must have; None
    if the method has no state.
    """

    path: Path
    method: TruthInference
    store: str
    known_truths: str
    example: Callable[[], State | None]

    def load(self) -> LoopProgress:
        """Return the progress of this run in the file; a new `LoopProgress` if there is no file."""
        check_folder(self.path)
        if not self.path.exists():
            return LoopProgress()
        try:
            with self.path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            note = json.loads(str(arrays.pop("note")))
            history = arrays.pop("history")
        except _UNREADABLE as error:
            reason = " ".join(str(error).split())
            raise self._wrong(reason) from None
        if history.ndim != 1 or history.dtype != np.float64:
            raise self._wrong(f"history is {history.dtype} of shape {history.shape}")
        self._check(note, len(history))
        state = self._state(note.get("state"), arrays)
        return LoopProgress(state=state, history=tuple(history.tolist()))

    def save(self, progress: LoopProgress) -> None:
        """Write the progress of the loop."""
        note = {**self._note(), "state": type(progress.state).__name__}
        arrays: dict[str, Any] = dict(_flat(progress.state))
        with replacing(self.path) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                note=np.array(json.dumps(note)),
                history=np.array(progress.history, np.float64),
                **arrays,
            )

    def _note(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "method": self.method.to_dict(),
            "store": self.store,
            "gold": self.known_truths,
        }

    def _check(self, note: Any, updates: int) -> None:
        """Raise unless the note belongs to this run; only `max_iter` may differ."""
        own = self._note()
        if not isinstance(note, dict) or note.get("format") != FORMAT:
            raise self._wrong("its note does not describe a checkpoint")
        if note.get("version") != VERSION:
            raise FormatError(
                "scale.checkpoint-version",
                path=self.path,
                value=note.get("version"),
                version=VERSION,
            )
        for name, what in (("store", "another store"), ("gold", "other known truths")):
            if note.get(name) != own[name]:
                raise self._of_another(f"was made with {what}")
        if not isinstance(note.get("method"), dict):
            raise self._wrong(f"its method is {note.get('method')!r}")
        limit = {"max_iterations": None}
        if {**note["method"], **limit} != {**own["method"], **limit}:
            raise self._of_another(
                f"belongs to {json.dumps(note['method'])}, but this run uses "
                f"{json.dumps(own['method'])}"
            )
        if updates > self.method.max_iter:
            raise self._of_another(
                f"has {updates:,} iterations, but max_iter is {self.method.max_iter:,}"
            )

    def _of_another(self, what: str) -> ParameterError:
        return ParameterError("scale.checkpoint-unusable", path=self.path, subject=what)

    def _wrong(self, what: str) -> FormatError:
        return FormatError("scale.not-a-checkpoint", path=self.path, subject=what)

    def _state(self, name: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> State:
        example = self.example()
        if example is None or name != type(example).__name__:
            raise self._wrong(f"its state is {name!r}, not {type(example).__name__!r}")
        expected = dict(_flat(example))
        if set(arrays) != set(expected):
            raise self._wrong(
                f"it contains {', '.join(sorted(arrays))}, not {', '.join(sorted(expected))}"
            )
        for field, array in expected.items():
            found = arrays[field]
            if (found.dtype, found.shape) != (array.dtype, array.shape):
                raise self._wrong(
                    f"{field} is {found.dtype} of shape {found.shape}, not {array.dtype} of "
                    f"{array.shape}"
                )
        state: State = _record(type(example), arrays, "")
        return state


def _flat(record: Any, prefix: str = "") -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Yield the fields of a record as arrays; names of nested fields are joined by `NESTED`."""
    for name in attrs.fields_dict(type(record)):
        value = getattr(record, name)
        if attrs.has(type(value)):
            yield from _flat(value, f"{prefix}{name}{NESTED}")
        else:
            yield prefix + name, np.asarray(value)


def _record(kind: Any, arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> Any:
    fields: dict[str, Any] = {}
    for name, attribute in attrs.fields_dict(attrs.resolve_types(kind)).items():
        inner = attribute.type
        if isinstance(inner, type) and attrs.has(inner):
            fields[name] = _record(inner, arrays, f"{prefix}{name}{NESTED}")
        else:
            value = arrays[prefix + name]
            fields[name] = value if value.ndim else value.item()
    return kind(**fields)
