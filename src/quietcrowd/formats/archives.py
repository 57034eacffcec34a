"""Exports of several JSON files, in a folder or a zip archive."""

import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from quietcrowd.formats.jsonl import keys_of


def is_archive(path: Path) -> bool:
    """Return whether a path is a folder or has the suffix of a zip archive."""
    return path.suffix.lower() == ".zip" or path.is_dir()


def members(path: Path) -> Iterator[tuple[PurePosixPath, str]]:
    """Yield the JSON files inside, by name, and their texts; hidden files are skipped.

    Raises ValueError if an archive is damaged or encrypted.
    """
    if path.is_dir():
        files = {PurePosixPath(file.relative_to(path).as_posix()): file for file in _files(path)}
        for name in sorted(filter(_is_json, files)):
            yield name, files[name].read_text(encoding="utf-8-sig")
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(filter(_is_json, map(PurePosixPath, archive.namelist()))):
                yield name, archive.read(str(name)).decode("utf-8-sig")
    except (zipfile.BadZipFile, RuntimeError) as error:  # RuntimeError: encrypted
        raise ValueError(str(error)) from None


def _files(folder: Path) -> Iterator[Path]:
    return (file for file in folder.rglob("*") if file.is_file())


def _is_json(name: PurePosixPath) -> bool:
    hidden = any(part.startswith((".", "__MACOSX")) for part in name.parts)
    return name.suffix.lower() == ".json" and not hidden


def first_keys(path: Path) -> list[str]:
    """Return names of files as ``file:NAME``, and `jsonl.first_keys` of the first one."""
    keys: list[str] = []
    for name, text in members(path):
        keys += [f"file:{name}"] if keys else [*keys_of(text), f"file:{name}"]
    return keys
