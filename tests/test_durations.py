"""No test sleeps for a fixed time or asserts a duration, so that none needs a quiet machine."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALLOWED = {
    "campaign/waiting.py": "here all tests wait",
    "programs.py": "here all tests start programs",
    "faults.py": "make nightly runs it, and no test waits for it long",
    "campaign/debian.py": "make installs programs by it, at a terminal",
    "campaign/test_debian.py": "it replaces what the former runs",
    "campaign/flood.py": "the pace of those who flood",
    "deploy/tls_flood.py": "the pace of those who flood",
    "campaign/timed_campaigns.py": "times of two worlds, measured in turn, are compared",
}

CLOCKS = {"sleep", "monotonic", "perf_counter", "process_time"}
DEADLINES = {
    *("communicate", "exception", "join", "result", "set_default_timeout", "settimeout", "timeout"),
    *("wait", "wait_for_timeout"),
}
REQUESTS = {"AsyncClient", "Client", "delete", "get", "post", "put", "request", "stream"}
"""Calls of httpx that give up after 5 seconds without `timeout`."""

IN_TEXT = re.compile(r"time\.sleep\(|os\.kill\(os\.getpid\(\)|subprocess\.")
"""Programs that tests run from texts obey the rule, too."""

FILES = [
    str(path.relative_to(ROOT))
    for tests in ("tests", "research/tests")
    for path in sorted((ROOT / tests).rglob("*.py"))
    if path != Path(__file__)
    and path.relative_to(ROOT).as_posix().removeprefix("tests/") not in ALLOWED
]


_SUSPECTS = (ast.Call, ast.Constant, ast.Import, ast.ImportFrom, ast.keyword)

_WORDS = re.compile(
    r"httpx|monotonic|os\.kill|perf_counter|process_time|sleep|subprocess|timeout"
    r"|\.(communicate|exception|join|result|wait)\(\s*[\d.T]"
)
"""No fault is without one of them: most files have none, and are not parsed."""


def faults(source: str) -> list[str]:
    """Return what depends on time in a test module, or starts a process that may outlive it."""
    found = []
    for node in ast.walk(ast.parse(source)) if _WORDS.search(source) else ():
        if not isinstance(node, _SUSPECTS):  # most nodes; `match` would take longer
            continue
        match node:
            case ast.Import(names=names):
                words = [one.name for one in names if one.name == "subprocess"]
            case ast.ImportFrom(module="subprocess", names=names):
                words = [one.name for one in names if one.name not in {"PIPE", "DEVNULL", "STDOUT"}]
            case ast.ImportFrom(module="time", names=names):
                words = [one.name for one in names if one.name in CLOCKS]
            case ast.Call(func=ast.Attribute(value=ast.Name(id="time"), attr=name)):
                words = [name] if name in CLOCKS else []
            case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio"), attr="sleep")):
                words = [] if ast.unparse(node.args[0]) == "0" else ["sleep"]
            case ast.Call(func=ast.Attribute(value=ast.Name(id="httpx"), attr=name), keywords=kw):
                told = {one.arg for one in kw} & {"timeout", "transport", None}
                words = [] if told or name not in REQUESTS else [f"httpx.{name} in 5 seconds"]
            case ast.Call(func=ast.Attribute(attr=name), args=[ast.Constant(value=most)]):
                is_short = isinstance(most, int | float) and most and name in DEADLINES
                words = [ast.unparse(node)] if is_short else []
            case ast.keyword(arg="timeout", value=ast.Constant(value=int() | float())):
                words = [ast.unparse(node)]
            case ast.Constant(value=str(text)):
                words = IN_TEXT.findall(text)
            case _:
                words = []
        found += [f"line {getattr(node, 'lineno', 0)}: {word}" for word in words]
    return found


@pytest.mark.slow
def test_nothing_depends_on_time():
    found = {file: faults((ROOT / file).read_text("utf-8")) for file in FILES}
    assert not {file: lines for file, lines in found.items() if lines}


@pytest.mark.parametrize(
    "line",
    [
        "import subprocess",
        "from subprocess import run, PIPE",
        "from time import sleep",
        "time.sleep(0.1)",
        "assert time.monotonic() < 3",
        "asyncio.sleep(1)",
        "queue.get(timeout=5)",
        "page.wait_for_timeout(50)",
        "process.wait(60)",
        "CODE = 'import time; time.sleep(1)'",
        "CODE = 'os.kill(os.getpid(), 9)'",
        "httpx.get(url, verify=PLAIN)",
    ],
)
def test_what_depends_on_time_is_found(line):
    assert len(faults(line)) == 1
    assert faults("import time\ntime.time()\nasyncio.sleep(0)\nqueue.get(timeout=LONG)") == []
    assert faults("httpx.get(url, timeout=LONG)\nhttpx.Client(transport=t)\nhttpx.URL(u)") == []
