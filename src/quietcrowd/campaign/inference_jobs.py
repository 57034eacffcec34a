"""When to infer: a while after reports came in, one campaign after the other."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from threading import Condition, Thread

from attrs import define, field
from sqlalchemy import select

from quietcrowd.campaign import tables
from quietcrowd.campaign.database import Database
from quietcrowd.campaign.logs import log_failure

__all__ = ["InferenceJobs"]

_COMMAND = (sys.executable, "-m", "quietcrowd.campaign.inference_process")

_AGAIN = 2.0
"""Least seconds after which to try again where the database could not be reached."""


class _InferenceError(Exception):
    """The process that infers failed or is gone; the next campaign gets a new one."""


@define(kw_only=True)
class InferenceJobs:
    """Asks a process of its own for inferences.

    Attributes
    ----------
    database : Database
        Of the campaigns.
    debounce : float
        Seconds from the first change of a campaign to its inference: what comes meanwhile is part
        of it.
    """

    database: Database
    debounce: float
    _due: dict[bytes, float] = field(factory=dict, init=False)
    _changed: Condition = field(factory=Condition, init=False)
    _process: subprocess.Popen[str] | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)
    _thread: Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        for campaign in self._left_open():
            self.request(campaign)
        self._thread = Thread(target=self._run, name="inference", daemon=True)
        self._thread.start()

    def request(self, campaign: bytes, least: float = 0.0) -> None:
        """Ask for an inference of a campaign, soon, but not in less than so many seconds."""
        with self._changed:
            self._due.setdefault(campaign, time.monotonic() + max(self.debounce, least))
            self._changed.notify()

    def close(self) -> None:
        """End the process, whatever it is doing: results are computed anew at the next start."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            if self._process is not None:
                self._process.kill()
        self._thread.join()
        self._forget_process()

    def _left_open(self) -> list[bytes]:
        """Return campaigns that may have more reports than their results tell of."""
        campaign = tables.campaign.c
        done = select(tables.inference.c.campaign_id)
        with self.database.read() as connection:
            return list(
                connection.scalars(
                    select(campaign.id).where(
                        (campaign.state == "open")
                        | ((campaign.state == "closed") & campaign.id.not_in(done))
                    )
                )
            )

    def _run(self) -> None:
        while (campaign := self._next()) is not None:
            try:
                self._infer(campaign)
            except (OSError, ValueError, _InferenceError) as error:
                if not self._closed:
                    log_failure("inference", error)
                self._forget_process()

    def _next(self) -> bytes | None:
        """Wait for the next campaign that is due; None at the end."""
        with self._changed:
            while not self._closed:
                if not self._due:
                    self._changed.wait()
                    continue
                campaign = min(self._due, key=self._due.__getitem__)
                left = self._due[campaign] - time.monotonic()
                if left <= 0:
                    del self._due[campaign]
                    return campaign
                self._changed.wait(left)
        return None

    def _infer(self, campaign: bytes) -> None:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{campaign.hex()}\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if answer.startswith("later"):
            self.request(campaign, least=_AGAIN)
        elif not answer or answer.startswith("failed"):
            raise _InferenceError

    def _started(self) -> subprocess.Popen[str]:
        with self._changed:
            if self._closed:
                raise _InferenceError
            if self._process is None:
                self._process = subprocess.Popen(
                    _COMMAND,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    process_group=0,  # Ctrl-C is for the server, which ends it in turn
                    text=True,
                )
                url = self.database.url.render_as_string(hide_password=False)
                assert self._process.stdin is not None
                self._process.stdin.write(f"{json.dumps(url)}\n")
            return self._process

    def _forget_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError), process:  # closes its pipes, and waits
                pass
