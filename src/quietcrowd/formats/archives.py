"""Exports of several files, in a folder or a zip archive."""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from quietcrowd.formats import jsonl


def is_archive(path: Path) -> bool:
    """Return whether a path is a folder or has the suffix of a zip archive."""
    return path.suffix.lower() == ".zip" or path.is_dir()


def members(
    path: Path, suffixes: Sequence[str] = (".json",)
) -> Iterator[tuple[PurePosixPath, str]]:
    """Yield the files inside that have one of the suffixes, by name, and their texts.

    Raises ValueError if an archive is damaged or encrypted.
    """
    files = {name: file for name, file in _files(path).items() if name.suffix.lower() in suffixes}
    if path.is_dir():
        for name in sorted(files):
            yield name, (path / files[name]).read_text(encoding="utf-8-sig")
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(files):
                yield name, archive.read(files[name]).decode("utf-8-sig")
    except (zipfile.BadZipFile, RuntimeError) as error:  # RuntimeError: encrypted
        raise ValueError(str(error)) from None


def count_files(path: Path) -> int:
    """Return the number of files inside; ValueError as in `members`."""
    return len(_files(path))


def _files(path: Path) -> dict[PurePosixPath, str]:
    """Return the files that are not hidden, with their original names."""
    if path.is_dir():
        found = [str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()]
    else:
        try:
            with zipfile.ZipFile(path) as archive:
                found = [name for name in archive.namelist() if not name.endswith("/")]
        except zipfile.BadZipFile as error:
            raise ValueError(str(error)) from None
    names = {PurePosixPath(name.replace("\\", "/")): name for name in found}
    return {
        name: file
        for name, file in names.items()
        if not any(part.startswith((".", "__MACOSX")) and part != ".." for part in name.parts)
    }


def first_keys(path: Path) -> list[str]:
    """Return names of files as ``file:NAME``, and `jsonl.first_keys` of the first or only one."""
    if not is_archive(path):
        return jsonl.first_keys(path)
    keys: list[str] = []
    for name, text in members(path):
        keys += [f"file:{name}"] if keys else [*jsonl.keys_of(text), f"file:{name}"]
    return keys
