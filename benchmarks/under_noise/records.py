"""What each rival made of each draw of noise, kept so that a run can be taken up again."""

import hashlib
import re
import zlib
from pathlib import Path

import numpy as np

import quietcrowd

LOSS = "loss"
"""One number per task whose truth is known: 1 where the label is wrong, or the distance."""


class Kept:
    """Records in a folder, by key, draw and rival; those of some rivals are made again."""

    def __init__(self, folder=None, again=()):
        self.folder = None if folder is None else Path(folder)
        self.again = frozenset(again)

    def _path(self, key, draw):
        plain = re.sub(r"[^\w.=]+", "_", "-".join(map(str, key)))
        return self.folder / f"{plain}-{draw}.npz"

    def read(self, key, draw):
        """Return records by rival: arrays by name."""
        if self.folder is None or not self._path(key, draw).exists():
            return {}
        records = {}
        with np.load(self._path(key, draw)) as stored:
            for name in stored.files:
                rival, field = name.split("|")
                if rival not in self.again:
                    records.setdefault(rival, {})[field] = stored[name]
        return records

    def write(self, key, draw, records):
        """Keep records by rival."""
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        arrays = {f"{r}|{f}": v for r, fields in records.items() for f, v in fields.items()}
        part = self._path(key, draw).with_suffix(".part")
        with part.open("wb") as file:
            np.savez(file, **arrays)
        part.replace(self._path(key, draw))


def source_hash():
    """Return what names the code that made a record."""
    root = Path(quietcrowd.__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*root.rglob("*.py"), *Path(__file__).parent.glob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def measure(key, draws, simulate, rivals, kept):
    """Return, for every rival by name, its arrays by name, each stacked over the draws.

    Parameters
    ----------
    key : tuple of str
        Names the cell and, with the draw, the stream of random numbers: all rivals see the same.
    draws : int
        How many.
    simulate : function of (Generator, draw)
        Gives what the rivals are shown.
    rivals : dict of str to function
        Each takes what `simulate` gave and returns a record: arrays by name.
    kept : Kept
        Earlier records.
    """
    stacks = {name: [] for name in rivals}
    for draw in range(draws):
        records = kept.read(key, draw)
        missing = [name for name in rivals if name not in records]
        if missing:
            seed = [zlib.crc32("-".join(map(str, key)).encode()), draw]
            scene = simulate(np.random.default_rng(seed), draw)
            records |= {name: rivals[name](scene) for name in missing}
            kept.write(key, draw, records)
        for name in rivals:
            stacks[name].append(records[name])
    return {
        name: {field: np.stack([r[field] for r in rows]) for field in rows[0]}
        for name, rows in stacks.items()
    }
