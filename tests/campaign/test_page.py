"""What the pages on campaigns and workers show, against the server that they start."""

import json
import os
import re
import shlex
from pathlib import Path

import httpx
import pandas as pd
import pytest
from tests.campaign.people import PLAIN
from tests.campaign.server_process import server_process
from tests.campaign.waiting import LONG, in_time

DOCS = Path(__file__).parents[2] / "docs"


def commands(name):
    """Return the commands of each block of a page."""
    page = (DOCS / "run" / name).read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    listed = [
        re.findall(r"quietcrowd [a-z][^&\n]*?(?= +#| +&&|$)", one.replace("\\\n", ""), re.MULTILINE)
        for one in blocks
    ]
    return [[shlex.split(line)[1:] for line in lines] for lines in listed if lines]


def example():
    """Return the lines of Python for a worker."""
    page = (DOCS / "reference" / "http.md").read_text()
    (lines,) = re.findall(r"^```py\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    return lines.replace("t2", "t7")


def play_keys(play, ends, names, monkeypatch):
    """Play the commands that make, list and end keys."""
    yearly, replacing, listing, revoking = ends
    leaked = play(yearly)
    names[revoking[-1]] = leaked[-4:]
    assert leaked[-4:] in play(listing)
    play(revoking)
    assert " revoked " in next(line for line in play(listing).splitlines() if leaked[-4:] in line)
    monkeypatch.setenv("QUIETCROWD_KEY", play(replacing))
    states = [line.split()[1:2] for line in play(listing).splitlines()]
    assert states.count(["valid"]) == 1


def there_are_results(campaign):
    """Ask without the command line, which would take the time of who infers."""
    key = {"Authorization": f"Bearer {os.environ['QUIETCROWD_KEY']}"}
    url = f"{os.environ['QUIETCROWD_SERVER']}/api/v1/campaigns/{campaign}/results/head"
    return httpx.get(url, headers=key, verify=PLAIN, timeout=LONG).status_code == 200


def play_results(play, truths, shares, results, table):
    """Look at the results; return all of them."""
    assert play(truths).startswith("task,truth,confidence")
    assert play(shares).startswith("task,label,share")
    found = json.loads(play(results))
    assert found["participants"] == 4
    play(table)
    assert set(pd.read_csv("truths.csv")["task"]) == {"t1", "t7"}
    return found


@pytest.mark.nightly
@pytest.mark.slow
def test_the_page(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"task": ["t1", "t7"], "question": ["Tit?", "Jay?"]}).to_csv(
        "birds.csv", index=False
    )
    pd.DataFrame({"task": ["t1", "t7"], "label": ["yes", "no"]}).to_csv("mine.csv", index=False)
    beginning, watching, ending, ends = commands("campaigns.md")
    worker, _ = commands("workers.md")  # comparing the page has tests of its own
    names = {}

    def play(words, *options):
        status, output, errors = run(*(names.get(word, word) for word in words), *options)
        assert status == 0, errors
        return output.strip()

    key, serve, create, begin, invite, look, close, truths, table, delete = beginning
    listing, shares, results, exclude, include, erase, revoke, replace = watching
    assert serve[0] == "serve"
    monkeypatch.setenv("QUIETCROWD_KEY", play(key))
    monkeypatch.setenv("QUIETCROWD_DEBOUNCE", "0")
    with server_process("sqlite:///quietcrowd.db", tmp_path / "log") as server:
        monkeypatch.setenv("QUIETCROWD_SERVER", server.base_url.removesuffix("/api/v1"))
        names["ID"] = play(create)
        play(begin)
        links = play(invite).splitlines()
        names["LINK"] = links.pop()
        assert len([*links, play(replace, "--yes")]) == 20
        assert f"/dashboard/{names['ID']}#c=qcd_" in play(look)
        on_terminal, from_file, show, leave = worker
        assert on_terminal[:2] == ["worker", "answer"]
        for place, link in enumerate(links[:4]):
            names["LINK"] = link
            play(from_file, "--folder", tmp_path / f"device{place}")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        exec(example(), {"link": links[4]})
        play(show, "--folder", tmp_path / "device3")
        play(leave, "--yes", "--folder", tmp_path / "device3")
        play(close)
        assert in_time(lambda: there_are_results(names["ID"]), every=0.1)
        found = play_results(play, truths, shares, results, table)
        names["WORKER"], names["LINK"] = found["workers"][0]["worker"], links[10]
        assert play(exclude) == f"{names['WORKER']}  excluded"
        assert play(include) == "", "no worker is excluded"
        play(erase, "--yes")
        # without who was erased: others follow
        assert in_time(lambda: there_are_results(names["ID"]), every=0.1)
        play(revoke)
        reports, infer, *offline = ending
        play(reports)
        assert len(play(infer).splitlines()) > 2
        for words in offline:
            play(words)
        assert f"{names['ID']} closed Birds" in " ".join(play(listing).split())
        play(delete, "--yes")
        assert names["ID"] not in play(listing)
        play_keys(play, ends, names, monkeypatch)
    made = {path.name for path in tmp_path.iterdir()}
    assert {"reports.jsonl", "tasks.json", "truths.parquet"} <= made
