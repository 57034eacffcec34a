"""Scripts of this folder, each in a process of its own: for its time and its peak memory."""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def run_script(name, *words):
    """Run a script; return the JSON that it prints, if it prints any."""
    command = [sys.executable, HERE / name, *map(str, words)]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return json.loads(output) if output else None
