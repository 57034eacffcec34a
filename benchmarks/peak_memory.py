"""The most memory that a process took."""

import resource
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_gigabytes():
    """Return the most resident memory of this process since it began to run its program.

    What ``getrusage`` tells on Linux is at least what the parent took, where that one is larger.
    """
    if not _STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    peaks = [line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM:")]
    return int(peaks[0].split()[1]) / 1e6
