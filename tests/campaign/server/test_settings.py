import re
from pathlib import Path

import pytest
from annotated_types import Ge, Le

from quietcrowd.campaign.server.settings import (
    Settings,
    allowed,
    read_settings,
    require_no_contradiction,
)
from quietcrowd.exceptions import ParameterError

PAGE = Path(__file__).parents[3] / "docs" / "run" / "settings.md"


@pytest.mark.parametrize(
    "wrong",
    [
        {"port": -1},
        {"port": 65_536},
        {"port": True},
        {"port": "80"},
        {"burst": 0},
        {"at_once": 0},
        {"at_once_each": 0},
        {"debounce": -1},
        {"inference_timeout": 0},
        {"requests_per_second": float("nan")},
        {"requests_per_second": float("inf")},
        {"pool_size": 1},
        {"host": 7},
        {"joins_per_minute": -1.0},
        {"connections": 0},
        {"connections_each": 0},
        {"source_requests_per_second": -1.0},
        {"source_burst": 0},
        {"joins_at_once": 0},
        {"trusted_proxy": "crowd.example"},
        {"trusted_proxy": "0.0.0.0/0"},
        {"trusted_proxy": "::/0"},
        {"trusted_proxy": "0.0.0.0/1"},
        {"trusted_proxy": "2000::/3"},
        {"at_once_each": 9, "at_once": 8},
        {"at_once_each": 257},
        {"connections_each": 9, "connections": 8},
        {"no_such_thing": 7},
    ],
)
def test_settings_have_ranges(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Settings(**wrong)


@pytest.mark.parametrize(
    "right",
    [
        {"trusted_proxy": "10.0.0.0/8"},
        {"trusted_proxy": "fc00::/7"},
        {"trusted_proxy": "::1"},
        {"at_once_each": 8, "at_once": 8},
        {"at_once": 1},
        {"connections_each": 100_000},
        {"connections": 1},
    ],
)
def test_what_is_usual_gives_way_and_a_network_of_ones_own_is_believed(right):
    assert {name: getattr(Settings(**right), name) for name in right} == right


def test_a_folder_for_inferences_is_tried(tmp_path):
    assert Settings(inference_folder=str(tmp_path)).inference_folder == str(tmp_path)
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(ParameterError, match="does not exist"):
        Settings(inference_folder=str(tmp_path / "file"))
    if Path("/proc/self").exists():
        with pytest.raises(ParameterError, match="the directory /proc"):
            Settings(inference_folder="/proc")


def test_every_number_has_bounds_and_every_setting_a_description():
    for name, field in Settings.model_fields.items():
        assert field.description.endswith((".", "then.")), name
        if field.annotation in (int, float, int | None):
            bounds = {type(one) for one in field.metadata}
            assert {Ge, Le} <= bounds, name


def test_a_password_in_the_address_of_the_database_is_not_printed():
    assert "secret" not in repr(Settings(database="postgresql://me:secret@host/name"))


def test_variables_change_nothing_that_a_program_asks_for(monkeypatch):
    monkeypatch.setenv("QUIETCROWD_PORT", "7")
    assert Settings().port == 8000


def test_the_address_for_workers_has_one_spelling():
    assert Settings().public_url is None
    assert Settings(public_url="https://Crowd.Example:443/below/").public_url == (
        "https://crowd.example/below"
    )
    with pytest.raises(ParameterError, match="without encryption"):
        Settings(public_url="http://crowd.example")


def shown(usual) -> str:
    if usual is None or isinstance(usual, bool):
        return {None: "none", True: "true", False: "false"}[usual]
    return f"`{usual}`" if isinstance(usual, str) else f"{usual:,}".removesuffix(".0")


def row(name: str) -> str:
    field = Settings.model_fields[name]
    words = allowed(Settings, name)
    range_of = "" if words == "a text" else f" *{words[0].upper()}{words[1:]}.*"
    return f"| `{name}` | {shown(field.default)} | {field.description}{range_of} |"


def test_the_page_for_operators_lists_all_settings():
    section, _, _ = PAGE.read_text().partition("## Start")
    listed = re.findall(r"^\| `[a-z_]+` \|.*\|$", section, re.MULTILINE)
    assert listed == [row(name) for name in Settings.model_fields]


def test_no_mistake_shows_a_password():
    with pytest.raises(ParameterError) as caught:
        Settings(database=["postgresql://me:secret@host/crowd"])
    assert str(caught.value) == "database must be a text"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("database", "a text"),
        ("infer", "true or false"),
        ("port", "a whole number from 0 to 65,535"),
        ("metrics_port", "a whole number from 0 to 65,535"),
        ("debounce", "a number of seconds from 0 to 86,400"),
        ("pool_seconds", "a number of seconds from 0.01 to 600"),
        ("pool_size", "a whole number of connections from 2 to 1,000"),
    ],
)
def test_what_a_setting_may_be_is_told_in_words(name, words):
    assert allowed(Settings, name) == words


@pytest.mark.parametrize(
    ("part", "whole"), [("at_once_each", "at_once"), ("connections_each", "connections")]
)
def test_a_contradiction_is_one_line_that_names_both_and_the_way_out(part, whole):
    with pytest.raises(ParameterError) as caught:
        require_no_contradiction(Settings.model_construct(**{part: 5_000, whole: 10}))
    assert str(caught.value) == (
        f"{part} is 5,000, but {whole} limits it to 10. "
        f"Set {part} to at most 10, or {whole} to at least 5,000."
    )
    require_no_contradiction(Settings.model_construct(**{part: 10, whole: 10}))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "crowd.toml"


def test_options_count_before_variables_and_those_before_the_file(file, monkeypatch):
    file.write_text('port = 1\nburst = 1\nhost = "::1"\nkeep_alive = 5\ninfer = false\n')
    monkeypatch.setenv("QUIETCROWD_BURST", "2")
    monkeypatch.setenv("quietcrowd_debounce", "0.5")
    monkeypatch.setenv("QUIETCROWD_AT_ONCE", "")
    monkeypatch.setenv("QUIETCROWD_DATA", "is for the tests")
    monkeypatch.setenv("QUIETCROWD_KEY", "is for requesters")
    found = read_settings(file, {"port": 3, "host": None}, ["grace = 4", "at-once-each=9"])
    assert found == Settings(
        port=3,
        burst=2,
        host="::1",
        keep_alive=5.0,
        infer=False,
        debounce=0.5,
        grace=4,
        at_once_each=9,
    )


def test_without_anything_all_is_as_usual():
    assert read_settings(None, {}) == Settings()


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("prot = 1", "unknown setting 'prot'; did you mean 'port'?"),
        ("zzz = 1", "unknown setting 'zzz'; docs/run/settings.md lists them"),
        ("port = 70000", "port must be a whole number from 0 to 65,535; got 70000"),
        ('port = "80"', "port must be a whole number from 0 to 65,535; got '80'"),
        ("infer = 1", "infer must be true or false; got 1"),
        ("[server]\nport = 1", "unknown setting 'server'"),
        ("port = 1\nport = 2", "are not valid TOML: Cannot overwrite a value (at end"),
        ("port", "are not valid TOML: Expected '=' after a key"),
        ('public_url = "http://crowd.example"', "public_url: "),
    ],
)
def test_a_mistake_in_the_file_is_one_line(file, written, told):
    file.write_text(written)
    with pytest.raises(ParameterError) as caught:
        read_settings(file, {})
    assert str(file) in str(caught.value)
    assert told in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_file_that_is_not_there_is_told_of(file):
    with pytest.raises(ParameterError, match=r"the file of settings .*crowd\.toml does not exist"):
        read_settings(file, {})


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("QUIETCROWD_BURST", "many", "variable QUIETCROWD_BURST: burst must be a whole number of"),
        ("QUIETCROWD_BURST", "0", "from 1 to 1,000,000; got 0"),
        (
            "QUIETCROWD_BRUST",
            "9",
            "QUIETCROWD_BRUST is not a setting; did you mean QUIETCROWD_BURST",
        ),
        ("QUIETCROWD_POOL_SECONDS", "nan", "from 0.01 to 600; got nan"),
    ],
)
def test_a_mistake_in_a_variable_is_one_line(monkeypatch, name, value, told):
    monkeypatch.setenv(name, value)
    with pytest.raises(ParameterError) as caught:
        read_settings(None, {})
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("assignment", "told"),
    [
        ("burst", "--set burst: write NAME=VALUE, such as --set burst=200"),
        ("burst=x", "--set burst=x: burst must be"),
        ("port=1", "--set port=1: use the option --port"),
        ("brust=1", "did you mean 'burst'?"),
    ],
)
def test_a_mistake_in_an_option_is_one_line(assignment, told):
    with pytest.raises(ParameterError) as caught:
        read_settings(None, {"port": None}, [assignment])
    assert told in str(caught.value)
    with pytest.raises(ParameterError, match="--inference-timeout: inference_timeout must be"):
        read_settings(None, {"inference_timeout": 0.5})
