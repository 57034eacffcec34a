"""The table of commands: what is listed is what is there, in every help and by completion."""

import pkgutil
import sys
from importlib import import_module, metadata

import pytest
from tests.programs import QUIETCROWD

import quietcrowd as qc
from quietcrowd import commands
from quietcrowd.commands.app import COMMANDS, Application, app
from quietcrowd.commands.main import main
from quietcrowd.evaluation import Experiment
from quietcrowd.inference import METHODS


def all_commands(group, *words):
    """Return the placeholders of all commands with the words that name them."""
    found = {}
    for name, command in group.commands.items():
        there = getattr(command, "commands", None)
        found |= {(*words, name): command} if there is None else all_commands(command, *words, name)
    return found


LISTED = all_commands(Application(name="quietcrowd"))
LOADED = {words: listed.load() for words, listed in LISTED.items()}


@pytest.mark.parametrize("words", LISTED, ids=" ".join)
def test_a_command_is_listed_with_the_first_line_of_its_help(words):
    assert LISTED[words].help == LOADED[words].help.splitlines()[0]
    assert LOADED[words].name == words[-1]


def test_no_command_is_missing_from_the_table():
    declared = set()
    for module in pkgutil.walk_packages(commands.__path__, "quietcrowd.commands."):
        there = vars(import_module(module.name)).values()
        declared |= {
            f"{one.__module__}:{one.__qualname__}".removeprefix("quietcrowd.commands.")
            for one in there
            if isinstance(one, type) and "epilog" in vars(one)
        }
    listed = [place for _, place in flat(COMMANDS)]
    assert sorted(listed) == sorted(declared)


def flat(table):
    """Yield the lines and places of the commands of a table and its groups."""
    for line, place in table.values():
        if isinstance(place, str):
            yield line, place
        else:
            yield from flat(place)


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


@pytest.mark.parametrize("group", [(), ("campaign",), ("admin",), ("lab",)], ids=" ".join)
def test_no_command_is_summed_up_with_dots(run, group):
    status, output, _ = run(*group, "--help")
    assert status == 0
    listed = output.partition("Commands:")[2].splitlines()[1:]
    assert len(listed) >= 7
    assert [line for line in listed if line.endswith("...")] == []


@pytest.mark.parametrize("command", [("infer",), ("lab", "evaluate"), ("campaign", "create")])
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
        ("quietcrowd c", "convert"),
        ("quietcrowd lab s", "synthesize"),
        ("quietcrowd worker verify --j", "--json"),
        ("quietcrowd campaign invites c", "create"),
        ("quietcrowd randomize --mechanism t", "two-layer"),
        ("quietcrowd infer --method w", "weighted-vote"),
        ("quietcrowd convert --dr", "--drop-invalid"),
        ("quietcrowd lab rank --du", "--duplicates"),
    ],
)
def test_commands_options_and_choices_are_completed(monkeypatch, capsys, typed, completed):
    monkeypatch.setenv("_QUIETCROWD_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    with pytest.raises(SystemExit):
        app([], prog_name="quietcrowd")
    assert completed in capsys.readouterr().out


@pytest.fixture
def installed(monkeypatch):
    """Return a function that replaces the entry points of other packages, by name and value."""

    def replace(**points):
        found = [metadata.EntryPoint(*point, "quietcrowd.commands") for point in points.items()]
        monkeypatch.setattr(metadata, "entry_points", lambda **_: metadata.EntryPoints(found))

    return replace


def test_commands_of_other_packages_are_listed(run, installed):
    installed(serve="nowhere:Serve", demonstrate="nowhere:Demonstrate")
    listed = run("--help")[1].partition("Commands:")[2].split()
    assert listed.count("serve") == 1, "a command of quietcrowd goes first"
    assert listed[-1] == "demonstrate"
    assert run("serve", "--help")[0] == 0
    assert "Did you mean 'demonstrate'?" in run("demonstrat")[2]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("nowhere:Broken", "ModuleNotFoundError: No module named 'nowhere'"),
        ("quietcrowd.commands.lab.poll:Nothing", "AttributeError: "),
        ("quietcrowd.commands.lab.poll:ShuffledPoll", "AttributeError: "),
    ],
)
def test_a_broken_command_of_another_package_is_one_line(run, installed, value, why):
    installed(broken=value)
    assert run("--help")[0] == 0
    status, output, errors = run("broken", "--help")
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith(f"quietcrowd: error: broken of {value} cannot be loaded: {why}")


def test_a_command_of_research_says_how_to_install_it(run, installed):
    installed()
    assert "reproduce" not in run("--help")[1]
    for words in (["reproduce"], ["reproduce", "all", "--quick"], ["reproduce", "--help"]):
        assert run(*words) == (
            *(2, ""),
            "quietcrowd: error: reproduce is a command of quietcrowd-research. Install it with "
            "pip install ./research in the source of quietcrowd.\n",
        )


def test_version_and_module(run, program):
    assert run("--version") == (0, f"quietcrowd {qc.__version__}\n", "")
    assert "Usage:" in program(*QUIETCROWD, "-h").finished(check=True).output


def test_what_nobody_foresaw_is_one_line_too(run, folder, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("never\nforeseen")

    monkeypatch.setattr(Experiment, "run", fail)
    status, _, errors = run("lab", "evaluate", folder)
    assert status == 2
    assert errors.count("\n") == 1
    assert "ZeroDivisionError: never foreseen" in errors
    monkeypatch.setenv("QUIETCROWD_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["quietcrowd", "lab", "evaluate", str(folder)])
    with pytest.raises(ZeroDivisionError):
        main()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["frob"], "No such command 'frob'"),
        (["infer"], "Missing argument 'REPORTS'"),
        (["infer", "--frob", "x"], "No such option: --frob"),
        (["infer", "missing.csv"], "error: missing.csv: there is no such file\n"),
        (
            ["infer", "{folder}", "--method", "guess"],
            "--method must be one of noise-aware, majority",
        ),
        (["infer", "{folder}/answers.csv"], "the mechanism of these reports is unknown"),
        (["randomize", "{folder}/no.csv", "--labels", "a,b", "-o", "r.csv"], "no such file"),
        (
            ["infer", "{folder}", "--non-private", "-o", "nowhere/t.csv"],
            "there is no such directory",
        ),
        (
            ["infer", "{folder}", "--non-private", "-o", "{folder}/truth.csv"],
            "write to another file",
        ),
        (["randomize", "{folder}/answers.csv", "-o", "r.csv"], "possible answers with --labels"),
        (["infer", "{folder}"], "add --non-private"),
        (["infer", "{folder}", "{folder}", "--non-private"], "--non-private accepts one file"),
        (["infer", "{folder}/answers.csv", "--labels", "a,b"], "require --non-private"),
        (["infer", "{folder}", "--smoothing", "2"], "No such option: --smoothing"),
        (["infer", "{folder}/answers.csv", "-o", "{folder}/answers.csv"], "write to another file"),
        (
            ["randomize", "{folder}/answers.csv", "-o", "{folder}/answers.csv"],
            "write to another file",
        ),
        (["randomize", "{folder}", "--simulate", "-3", "-o", "r.csv"], "Invalid value"),
        (
            ["randomize", "{folder}/answers.csv", "--labels", "a", "--levels", "1", "-o", "r.csv"],
            "use one of --labels",
        ),
        (["lab", "evaluate", "{folder}", "--plot", "x.pdf"], "must end in .png"),
        (["lab", "evaluate", "{folder}/answers.csv"], "give its directory"),
        (["infer", "{folder}", "-o", "truths.ods"], "with a name that ends in"),
        (["infer", "{folder}", "--non-private", "--seed", "-1"], "--seed"),
        (["randomize", "{folder}"], "name the file of the reports"),
        (
            ["randomize", "{folder}", "-e", "17", "-o", "r.csv"],
            "epsilon must be a number from 0 to 16",
        ),
        (["randomize", "{folder}", "-m", "nonsense", "-o", "r.csv"], "--mechanism must be one of"),
        (
            ["randomize", "{folder}", "-e", "much", "-o", "r.csv"],
            "parse string as a number; got 'much'",
        ),
        (
            ["randomize", "{folder}/answers.csv", "--levels", "2,1", "-o", "r.csv"],
            "levels must increase",
        ),
        (
            ["randomize", "{folder}/answers.csv", "--labels", "no,maybe", "-o", "r.csv"],
            "row 0, column 'label'",
        ),
        (["lab", "evaluate", "nowhere"], "this directory does not exist"),
        (
            ["lab", "evaluate", "{folder}", "-e", "a,b"],
            "--epsilon must be numbers separated by commas",
        ),
        (["lab", "evaluate", "{folder}", "--trials", "1"], "Invalid value for '--trials'"),
        (
            ["lab", "evaluate", "{folder}", "--method", "majority,weighted-vote:smoothing=-1"],
            "smoothing must be a finite number",
        ),
        (["demo", "-e", "-1"], "epsilon must be a number from 0 to 16"),
        (["randomize", "{folder}", "-m", "two-layer", "-e", "800", "-o", "r.csv"], "from 0 to 16"),
        (["randomize", "{folder}", "-o", "{folder}/answers.csv"], "write to another file"),
        (["infer", "{folder}", "--non-private", "--labels", "a,b"], "require a file"),
        (
            ["infer", "{folder}", "--non-private", "-o", "x.csv", "--workers-out", "x.csv"],
            "two outputs",
        ),
        (["lab", "evaluate", "{folder}", "-e", "1,nan"], "an epsilon must be a finite number"),
        (["lab", "evaluate", "{folder}", "-e", "1,-5"], "an epsilon must be a finite number"),
        (
            ["infer", "{folder}/answers.csv", "--non-private", "--labels", "no\nyes,x"],
            "is not a comma",
        ),
    ],
)
def test_bad_input_is_one_line_and_status_2(run, folder, words, message):
    status, output, errors = run(*(word.format(folder=folder) for word in words))
    assert status == 2
    assert output == ""
    assert message in errors
    assert len([line for line in errors.splitlines() if "note:" not in line]) == 1
    assert errors.startswith("quietcrowd: ")


@pytest.mark.nightly
@pytest.mark.slow
def test_a_closed_pipe_is_no_error(program, closed_pipe, folder):
    words = (*QUIETCROWD, "infer", folder, "--non-private")
    status, _, errors = program(*words, stdout=closed_pipe).finished()
    assert status == 1
    assert "Traceback" not in errors
    assert "Broken pipe" not in errors
