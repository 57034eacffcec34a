"""Upload to a campaign at a fixed rate, whatever the answers; a process of its own.

Usage: python upload_load.py PLAN.json RESULT.npz

The plan holds ports (of servers, which take turns), config_hash, tasks, credentials, seed, phases
([uploads per second, seconds]) and watched (ids of processes by name). Uploads leave when the clock
says so, each of another worker, over connections that are kept, as a server with HTTPS before the
service keeps them; a latency counts from the moment at which the upload was to leave. Written are,
per upload, the moment, the latency, the status (0: no answer) and the ids of its reports; and, per
phase, the seconds of processor time that each name took.
"""

import asyncio
import gc
import json
import re
import resource
import sys
import time
from pathlib import Path

import numpy as np

PER_UPLOAD = 10
LAST = 15
"""Seconds to wait for the last answers."""

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


class Connection(asyncio.Protocol):
    """A connection that is kept: one request at a time."""

    def __init__(self, load):
        self.load, self.number, self.answer, self.transport = load, None, b"", None

    def connection_made(self, transport):
        """Keep the transport."""
        self.transport = transport

    def send(self, number):
        """Send an upload."""
        self.number = number
        self.transport.write(self.load.requests[number])

    def data_received(self, data):
        """Note the answer, once it is whole."""
        self.answer += data
        end = self.answer.find(b"\r\n\r\n")
        found = LENGTH.search(self.answer, 0, end + 2) if end >= 0 else None
        if found is None or len(self.answer) < end + 4 + int(found[1]):
            return
        self.load.note(self.number, int(self.answer[9:12]))
        closing = b"\r\nconnection: close" in self.answer[:end].lower()
        self.number, self.answer = None, b""
        if closing:
            self.transport.close()
        else:
            self.load.idle[self] = None

    def connection_lost(self, _):
        """Note an upload that gets no answer."""
        self.load.idle.pop(self, None)
        if self.number is not None:
            self.load.note(self.number, 0)


class Load:
    """All uploads, and what became of them."""

    def __init__(self, plan):
        self.plan = plan
        counts = [round(rate * seconds) for rate, seconds in plan["phases"]]
        total = sum(counts)
        drawn = np.random.default_rng(plan["seed"])
        self.ids = drawn.integers(0, 256, (total, PER_UPLOAD, 16), dtype=np.uint8)
        self.requests = [self._request(number) for number in range(total)]
        self.idle = {}
        self.due = np.zeros(total)
        self.latency = np.full(total, np.nan)
        self.status = np.zeros(total, dtype=np.int16)
        self.phase = np.repeat(np.arange(len(counts)), counts)
        self.processor = []
        self.left = total
        self.opened = 0

    def _request(self, number):
        tasks, place = self.plan["tasks"], number * PER_UPLOAD
        reports = [
            {
                "report_id": one.tobytes().hex(),
                "task_id": tasks[(place + step) % len(tasks)],
                "value": step % 2,
            }
            for step, one in enumerate(self.ids[number])
        ]
        upload = {"config_hash": self.plan["config_hash"], "reports": reports}
        body = json.dumps(upload, separators=(",", ":")).encode()
        head = (
            "POST /api/v1/me/reports HTTP/1.1\r\n"
            "Host: 127.0.0.1\r\n"
            f"Authorization: Bearer {self.plan['credentials'][number]}\r\n"
            "Content-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def note(self, number, status):
        """Note an answer."""
        self.latency[number] = time.perf_counter() - self.due[number]
        self.status[number] = status
        self.left -= 1

    async def run(self):
        """Send all."""
        start = time.perf_counter() + 0.5
        self.processor.append(self._used())
        first = 0
        for rate, seconds in self.plan["phases"]:
            count = round(rate * seconds)
            self.due[first : first + count] = start + np.arange(count) / rate
            await self._send(first, first + count)
            first, start = first + count, start + seconds
            await asyncio.sleep(start - time.perf_counter())
            self.processor.append(self._used())
        until = time.perf_counter() + LAST
        while self.left and time.perf_counter() < until:
            await asyncio.sleep(0.05)

    async def _send(self, first, last):
        opening = set()
        number = first
        while number < last:
            wait = self.due[number] - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
                continue
            if self.idle:
                connection, _ = self.idle.popitem()  # the one that was used last
                connection.send(number)
            else:
                task = asyncio.create_task(self._open(number))
                opening.add(task)
                task.add_done_callback(opening.discard)
                await asyncio.sleep(0)
            number += 1
        await asyncio.gather(*opening)

    async def _open(self, number):
        port = self.plan["ports"][self.opened % len(self.plan["ports"])]
        self.opened += 1
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(
                lambda: Connection(self), "127.0.0.1", port
            )
        except OSError:
            self.note(number, 0)
        else:
            connection.send(number)

    def _used(self):
        own = resource.getrusage(resource.RUSAGE_SELF)
        used = {"generator": own.ru_utime + own.ru_stime}
        return used | {
            name: sum(map(tree_seconds, pids)) for name, pids in self.plan["watched"].items()
        }


def tree_seconds(pid):
    """Return the processor time of a process and all that it started, those that ended included."""
    ticks, children = {}, {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        ticks[int(place.parent.name)] = sum(map(int, fields[11:15]))
        children.setdefault(int(fields[1]), []).append(int(place.parent.name))
    found, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        found += ticks.get(one, 0)
        waiting += children.get(one, [])
    return found / 100


def main():
    """Send, and write what became of it."""
    plan, result = sys.argv[1:]
    load = Load(json.loads(Path(plan).read_text()))
    gc.freeze()
    gc.disable()
    asyncio.run(load.run())
    np.savez(
        result,
        due=load.due,
        latency=load.latency,
        status=load.status,
        phase=load.phase,
        ids=load.ids,
        opened=load.opened,
        processor=json.dumps(load.processor),
    )


if __name__ == "__main__":
    main()
