"""Which campaigns are large; and one of 10^6 reports of 10^5 workers, both ways, each a process."""

import json
import os
import sys
from pathlib import Path
from stat import S_IMODE
from types import SimpleNamespace

import pytest
from tests.campaign.mechanisms import MECHANISMS
from tests.programs import finished

from quietcrowd.campaign.results.large_campaigns import LargeCampaigns, sweep, work_folder

FOLDER = Path(__file__).parents[3] / "benchmarks"
TASKS, WORKERS, PER_TASK = 1_000, 100_000, 1_000
MOST_GIGABYTES = 0.55
"""Of the inference from files, which took 0.49 to 0.50 as it was measured; in memory 0.62."""


def run(name, *words):
    """Return what a script of the benchmarks prints."""
    command = [sys.executable, FOLDER / name, *map(str, words)]
    return json.loads(finished(*command, check=True).output.splitlines()[-1])


def campaign_of(reports, workers, mechanism="one-layer"):
    return SimpleNamespace(
        mechanism=json.dumps(MECHANISMS[mechanism].to_dict()),
        shown_reports=reports,
        shown_participants=workers,
        menu=None,
        rounds=None,
    )


def test_a_campaign_is_large_by_its_reports_and_its_workers():
    usual = LargeCampaigns()
    assert usual.include(campaign_of(10**7, 10**4))
    assert usual.include(campaign_of(10**6, 10**6))
    assert not usual.include(campaign_of(10**6, 10**4))
    assert not LargeCampaigns(memory=1e10).include(campaign_of(10**7, 10**6))
    assert not LargeCampaigns(memory=0).include(campaign_of(10**7, 10**6, "matrix factorisation"))


@pytest.mark.nightly
def test_files_take_less_memory(tmp_path):
    url = f"sqlite:///{tmp_path}/q.db"
    campaign = run("fill_campaign.py", url, TASKS, WORKERS, PER_TASK)["campaign"]
    in_memory = run("campaign_run.py", "infer", url, campaign, "1e12")["gigabytes"]
    from_files = run("campaign_run.py", "infer", url, campaign, "0")["gigabytes"]
    assert from_files < MOST_GIGABYTES
    assert from_files < in_memory


KILLED = """
import sys, threading
from quietcrowd.campaign.results.large_campaigns import work_folder
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


@pytest.mark.slow
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
