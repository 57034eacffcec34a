"""The most memory that a process took."""

import resource
from pathlib import Path


def peak_gigabytes():
    """Return the most resident memory of this process since it began to run its program.

    What ``getrusage`` tells on Linux is at least what the parent took, where that one is larger.
    """
    if not Path("/proc").exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return gigabytes_of("self")


def gigabytes_of(process):
    """Return the same of a process that still runs, by its id (Linux)."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1e6
