"""Commands as classes: what is declared is what a command line takes, and what its help lists."""

import shlex

import pytest

from quietcrowd.commands.declare import (
    argument,
    as_command,
    command,
    command_line,
    option,
    option_group,
)

SHARED = option("--size", "-s", min=1, help="How large.", default=3)


@option_group("Server")
class OnServer:
    campaign: str = argument(metavar="CAMPAIGN", help="Its id.")
    server_url: str = option(help="Where it is.", default="here")


@command(epilog="The end.")
class Send(OnServer):
    """Send something.

    More of it.
    """

    worker: str | None = argument(help="Who.", default=None)
    size: int = SHARED
    quiet: bool = option(help="Say nothing.", default=False)

    def run(self) -> None:
        print(self.campaign, self.worker, self.server_url, self.size, self.quiet)


@command()
class Fetch:
    """Fetch something."""

    size: int = SHARED

    def run(self) -> None:
        print(self.size)


@pytest.fixture
def call(capsys):
    """Return a function that calls a command line and gives its status and output."""
    commands = {"send": as_command(Send, "send"), "fetch": as_command(Fetch, "fetch")}

    def called(name, *words):
        with pytest.raises(SystemExit) as ended:
            commands[name].main(words, prog_name=name)
        return ended.value.code, capsys.readouterr().out

    return called


def test_fields_are_options_and_arguments(call):
    assert call("send", "c") == (0, "c None here 3 False\n")
    words = ("send", "c", "w", "-s", "5", "--quiet", "--server-url", "there")
    assert call(*words) == (0, "c w there 5 True\n")
    assert call("fetch", "--size", "4") == (0, "4\n")


@pytest.mark.parametrize(
    "words", [("send",), ("send", "c", "--size", "0"), ("send", "c", "--no-quiet"), ("fetch", "c")]
)
def test_what_is_not_declared_is_no_option(call, words):
    assert call(*words)[0] == 2


def test_help_has_a_section_for_each_group_and_own_options_first(call):
    status, output = call("send", "--help")
    assert status == 0
    lines = [line.strip() for line in output.splitlines()]
    places = [lines.index(f"{title}:") for title in ("Arguments", "Options", "Server")]
    assert places == sorted(places)
    arguments, own, server = (
        [line.split()[0] for line in lines[start + 1 : end] if line]
        for start, end in zip(places, [*places[1:], lines.index("The end.")], strict=True)
    )
    assert [one.strip("[]").lower() for one in arguments] == ["campaign", "worker"]
    assert own == ["-s,", "--quiet", "--help"]
    assert server == ["--server-url"]
    assert "Send something." in lines
    assert "More of it." in lines


@command()
class Draw:
    """Draw something."""

    name: str = argument(help="Its name.")
    sizes: list[str] | None = option(help="How large.", default=None)
    total: float = option(help="How much.", default=1.0)
    kept: bool | None = option("--keep/--drop", help="Whether to keep it.", default=None)
    quiet: bool = option(help="Say nothing.", default=False)
    secret: str = option("--key", help="A key.", default="")


@pytest.mark.parametrize(
    ("given", "changed", "line"),
    [
        ({}, {}, "quietcrowd draw it"),
        ({"name": "it's"}, {}, """quietcrowd draw 'it'"'"'s'"""),
        ({"name": "-B", "quiet": True}, {}, "quietcrowd draw --quiet -- -B"),
        ({"sizes": ["-1", "2"], "secret": "qck_0"}, {}, "quietcrowd draw it --sizes -1,2"),
        ({"sizes": ["1"]}, {"sizes": 7, "total": 2.50}, "quietcrowd draw it --sizes 7 --total 2.5"),
        ({"kept": True, "quiet": True}, {}, "quietcrowd draw it --keep --quiet"),
        (
            {"kept": False, "quiet": False, "total": 3.0},
            {"total": 1.0},
            "quietcrowd draw it --drop",
        ),
    ],
)
def test_a_command_is_written_again_without_its_key(given, changed, line):
    assert command_line(Draw(**{"name": "it", **given}), "draw", **changed) == line
    parsed = as_command(Draw, "draw").make_context("draw", shlex.split(line)[2:])
    assert parsed.params["name"] == given.get("name", "it")
