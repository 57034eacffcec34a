"""The table of commands: what is listed is what is there, in every help and by completion."""

import pkgutil
from importlib import import_module

import pytest
from typer.main import get_group

from quietcrowd import commands
from quietcrowd.commands.app import COMMANDS, app, load
from quietcrowd.inference import METHODS


def all_commands():
    """Return all commands with the words that name them."""
    found = {}
    for name in COMMANDS:
        command = load(name)
        inner = getattr(command, "commands", None)
        if inner is None:
            found[name,] = command
        else:
            found |= {(name, one): inner[one] for one in inner}
    return found


LOADED = all_commands()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_with_the_first_line_of_its_help(name):
    assert COMMANDS[name][1] == load(name).help.splitlines()[0]
    assert load(name).name == name


def test_no_command_is_missing_from_the_table():
    found = {}
    for module in pkgutil.iter_modules(commands.__path__):
        there = getattr(import_module(f"quietcrowd.commands.{module.name}"), "app", None)
        if there is not None and there is not app:
            found |= dict.fromkeys(get_group(there).commands, module.name)
    assert found == {name: module for name, (module, _) in COMMANDS.items()}


@pytest.mark.parametrize("words", LOADED, ids=" ".join)
def test_the_help_fits_and_has_examples_that_can_be_copied(run, words):
    status, output, _ = run(*words, "--help")
    assert status == 0
    assert max(map(len, output.splitlines())) <= 80
    paragraphs = (" ".join(part.split()) for part in LOADED[words].help.split("\n\n"))
    examples = [part for part in paragraphs if part.startswith("Example: ")]
    assert any(one.startswith(f"Example: quietcrowd {' '.join(words)}") for one in examples)
    for example in examples:
        assert example in " ".join(output.split())


@pytest.mark.parametrize("group", [(), ("campaign",)])
def test_no_command_is_summed_up_with_dots(run, group):
    status, output, _ = run(*group, "--help")
    assert status == 0
    listed = output.partition("Commands:")[2].splitlines()[1:]
    assert len(listed) >= 10
    assert [line for line in listed if line.endswith("...")] == []


@pytest.mark.parametrize("command", [("infer",), ("evaluate",), ("campaign", "create")])
def test_the_help_lists_methods_and_parameters_in_80_columns(run, command):
    lines = run(*command, "--help")[1].splitlines()
    assert max(map(len, lines)) <= 80
    start = next(i for i, line in enumerate(lines) if "Methods, and their parameters" in line)
    listed = [line.split() for line in lines[start + 1 :]]
    assert [words[0] for words in listed] == list(METHODS)
    assert ["crh", "loss,", "divisor,", "normaliser,", "per_answer"] in listed


def test_a_slip_is_answered_with_the_command_that_was_meant(run):
    status, output, errors = run("infr")
    assert (status, output) == (2, "")
    assert errors == "quietcrowd: error: No such command 'infr'. Did you mean 'infer'?\n"


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("quietcrowd s", "synthesize"),
        ("quietcrowd campaign in", "invite"),
        ("quietcrowd randomize --mechanism t", "two-layer"),
        ("quietcrowd infer --method w", "weighted-vote"),
        ("quietcrowd reproduce sun2018-", "sun2018-3"),
        ("quietcrowd partition --sk", "--skip-outside"),
    ],
)
def test_commands_options_and_choices_are_completed(monkeypatch, capsys, typed, completed):
    monkeypatch.setenv("_QUIETCROWD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    with pytest.raises(SystemExit):
        app([], prog_name="quietcrowd")
    assert completed in capsys.readouterr().out
