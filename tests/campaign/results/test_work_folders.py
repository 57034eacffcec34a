import os
import sys
from stat import S_IMODE

import pytest

from quietcrowd.campaign.results.work_folders import sweep, work_folder

KILLED = """
import sys, threading
from quietcrowd.campaign.results.work_folders import work_folder
with work_folder(sys.argv[1]) as folder:
    (folder / "reports.parquet").write_text("reports")
    print(folder, flush=True)
    threading.Event().wait()
"""


def test_a_folder_is_its_owners_and_gone_in_the_end(tmp_path):
    with work_folder(str(tmp_path)) as folder:
        assert S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "store").mkdir()
        sweep(str(tmp_path))
        assert (folder / "store").is_dir()
        with work_folder(str(tmp_path)) as other:
            assert other != folder
    assert list(tmp_path.iterdir()) == []


def test_a_folder_goes_where_the_work_fails(tmp_path):
    with pytest.raises(FileNotFoundError), work_folder(str(tmp_path)):
        raise FileNotFoundError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_swept(program, tmp_path):
    killed = program(sys.executable, "-c", KILLED, tmp_path)
    [folder] = killed.until(str(tmp_path))
    sweep(str(tmp_path))
    assert os.listdir(tmp_path) == [os.path.basename(folder)]
    killed.kill()
    sweep(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_ours_stays(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (tmp_path / "quietcrowd-inference-link").symlink_to(elsewhere)
    (tmp_path / "quietcrowd-inference-new").mkdir()  # it is just being locked
    (tmp_path / "other").mkdir()
    before = sorted(tmp_path.rglob("*"))
    sweep(str(tmp_path))
    assert sorted(tmp_path.rglob("*")) == before
