import platformdirs
import pytest

from quietcrowd.campaign.device.folder import CampaignFolder, default_folder
from quietcrowd.campaign.device.link import CampaignLink
from quietcrowd.exceptions import CampaignError, FormatError

LINK = CampaignLink.read("https://crowd.example/j/" + 32 * "0")
OTHER = CampaignLink.read("https://other.example/j/" + 32 * "0")


@pytest.fixture
def folder(tmp_path):
    folder = CampaignFolder.of(tmp_path / "device", LINK)
    with folder.held():
        return folder


def test_every_campaign_of_every_server_has_a_folder_of_its_own(tmp_path):
    assert CampaignFolder.of(tmp_path, LINK).path != CampaignFolder.of(tmp_path, OTHER).path


def test_a_credential_is_drawn_once(folder):
    assert folder.membership() is None
    first = folder.enter("hash")
    assert folder.enter("another hash") == folder.membership() == first
    assert first.credential not in repr(first)
    assert len(first.participant) == 32
    assert (folder.path / "credential").stat().st_mode & 0o777 == 0o600
    assert folder.path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"credential": "qcw_short", "config_hash": "x"}',
        b"\xff",
    ],
)
def test_a_damaged_credential_is_told(folder, content):
    path = folder.path / "credential"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(FormatError, match="is damaged"):
        folder.membership()


def test_the_tasks_that_a_worker_was_first_given_are_kept(folder):
    assert folder.allotted(["a", "b"]) == ["a", "b"]
    assert folder.allotted(["c"]) == ["a", "b"]
    path = folder.path / "allotment.json"
    assert path.stat().st_mode & 0o777 == 0o600
    folder.leave()
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"tasks": "a"}', b"\xff"])
def test_a_damaged_list_of_tasks_is_told(folder, content):
    path = folder.path / "allotment.json"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(FormatError, match=r"allotment\.json is damaged"):
        folder.allotted(["a"])


def test_a_credential_of_another_server_is_not_shown(tmp_path, folder):
    folder.enter("hash")
    other = CampaignFolder.of(tmp_path / "device", OTHER)
    with other.held():
        (folder.path / "credential").rename(other.path / "credential")
    with pytest.raises(FormatError, match="is damaged"):
        other.membership()


def test_what_is_kept_stays_as_it_is(folder):
    folder.keep_upload(b"first", b"{}")
    folder.keep_upload(b"second", b"{}")
    assert folder.upload() == b"first"
    folder.keep_receipt({"accepted": 1})
    folder.keep_receipt({"accepted": 2})
    assert folder.receipt() == {"accepted": 1}


def test_reports_and_noise_are_not_kept_side_by_side(folder):
    folder.memo.write_bytes(b"noise")
    folder.memo.chmod(0o600)
    folder.keep_upload(b"reports", b"{}")
    assert not folder.memo.exists()


def test_leaving(folder):
    folder.enter("hash")
    folder.leave()
    assert folder.membership() is None
    assert not folder.withdrawn
    folder.enter("hash")
    folder.keep_upload(b"reports", b"{}")
    folder.leave()
    folder.leave()
    assert folder.withdrawn
    assert {path.name for path in folder.path.iterdir()} == {"lock", "withdrawn"}


def test_one_process_at_a_time(tmp_path, folder):
    with (
        folder.held(),
        pytest.raises(CampaignError, match=r"another process works on https://crowd\.example/j/0"),
        CampaignFolder.of(tmp_path / "device", LINK).held(),
    ):
        pass
    with folder.held():
        pass


def test_the_default_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "quietcrowd"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".local" / "share" / "quietcrowd"


def test_a_folder_with_a_ledger_is_not_left_behind(monkeypatch, tmp_path):
    """On macOS the system's own place is another one than that of earlier versions."""
    for name in ("LOCALAPPDATA", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    library = tmp_path / "Library" / "Application Support" / "quietcrowd"
    monkeypatch.setattr(platformdirs, "user_data_path", lambda *_: library)
    assert default_folder() == library
    earlier = tmp_path / ".local" / "share" / "quietcrowd"
    earlier.parent.mkdir(parents=True)
    earlier.symlink_to(tmp_path / "not mounted")
    assert default_folder() == earlier
    earlier.unlink()
    earlier.mkdir()
    assert default_folder() == earlier
    library.mkdir(parents=True)
    with pytest.raises(CampaignError, match="each may hold a ledger"):
        default_folder()
