import pytest

from quietcrowd.campaign.server.setting_sources import read_settings
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.exceptions import ParameterError


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
        ("prot = 1", "there is no setting 'prot'; did you mean 'port'?"),
        ("zzz = 1", "there is no setting 'zzz'; docs/operating.md lists them"),
        ("port = 70000", "port must be a whole number from 0 to 65,535; got 70000"),
        ('port = "80"', "port must be a whole number from 0 to 65,535; got '80'"),
        ("infer = 1", "infer must be true or false; got 1"),
        ("[server]\nport = 1", "there is no setting 'server'"),
        ("port = 1\nport = 2", "cannot be read as TOML: Cannot overwrite a value (at end"),
        ("port", "cannot be read as TOML: Expected '=' after a key"),
        ('address = "http://crowd.example"', "address: "),
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
    with pytest.raises(ParameterError, match=r"there is no file .*crowd\.toml"):
        read_settings(file, {})


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("QUIETCROWD_BURST", "many", "variable QUIETCROWD_BURST: burst must be a whole number of"),
        ("QUIETCROWD_BURST", "0", "from 1 to 1,000,000; got 0"),
        ("QUIETCROWD_BRUST", "9", "QUIETCROWD_BRUST is no setting; did you mean QUIETCROWD_BURST"),
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
        ("burst", "--set burst: write NAME=VALUE, as --set burst=200"),
        ("burst=x", "--set burst=x: burst must be"),
        ("port=1", "--set port=1: this has an option, --port"),
        ("brust=1", "did you mean 'burst'?"),
    ],
)
def test_a_mistake_in_an_option_is_one_line(assignment, told):
    with pytest.raises(ParameterError) as caught:
        read_settings(None, {"port": None}, [assignment])
    assert told in str(caught.value)
    with pytest.raises(ParameterError, match="--longest-inference: longest_inference must be"):
        read_settings(None, {"longest_inference": 0.5})
