"""The workers' devices of the demo: real clients, each with a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from quietcrowd.campaign import Client
from quietcrowd.domains import Label

__all__ = ["send_all"]

_AT_ONCE = 8


def send_all(
    links: Sequence[str], answers: Sequence[Mapping[str, Label]], folder: Path
) -> list[Client]:
    """Let every worker join, randomise and send; return the devices.

    Parameters
    ----------
    links : sequence of str
        One per worker.
    answers : sequence of mapping of str to label
        What each worker thinks, by task.
    folder : Path
        Where devices have their folders.
    """

    def send(place: int) -> Client:
        device = Client(links[place], folder=folder / f"device-{place}")
        device.answer(answers[place])
        return device

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(send, range(len(links))))
