import re
from pathlib import Path

import pytest
from annotated_types import Ge, Le

from quietcrowd.campaign.server.setting_rules import allowed
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.exceptions import ParameterError

PAGE = Path(__file__).parents[3] / "docs" / "operating.md"


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
        {"longest_inference": 0},
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
        {"proxy": "crowd.example"},
        {"proxy": "0.0.0.0/0"},
        {"proxy": "::/0"},
        {"proxy": "0.0.0.0/1"},
        {"proxy": "2000::/3"},
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
        {"proxy": "10.0.0.0/8"},
        {"proxy": "fc00::/7"},
        {"proxy": "::1"},
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
    with pytest.raises(ParameterError, match="there is no folder"):
        Settings(inference_folder=str(tmp_path / "file"))
    if Path("/proc/self").exists():
        with pytest.raises(ParameterError, match="nothing can be written in /proc"):
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
    assert Settings().address is None
    assert Settings(address="https://Crowd.Example:443/below/").address == (
        "https://crowd.example/below"
    )
    with pytest.raises(ParameterError, match="without encryption"):
        Settings(address="http://crowd.example")


def shown(usual) -> str:
    if usual is None or isinstance(usual, bool):
        return {None: "none", True: "true", False: "false"}[usual]
    return f"`{usual}`" if isinstance(usual, str) else f"{usual:,}".removesuffix(".0")


def row(name: str) -> str:
    field = Settings.model_fields[name]
    words = allowed(Settings, name)
    return f"| `{name}` | {shown(field.default)} | {words} | {field.description} |"


def test_the_page_for_operators_lists_all_settings():
    section, _, _ = PAGE.read_text().partition("## Start")
    listed = re.findall(r"^\| `[a-z_]+` \|.*\|$", section, re.MULTILINE)
    assert listed == [row(name) for name in Settings.model_fields]


def test_no_mistake_shows_a_password():
    with pytest.raises(ParameterError) as caught:
        Settings(database=["postgresql://me:secret@host/crowd"])
    assert str(caught.value) == "database must be a text"
