"""Infer a campaign, or run a command; a process of its own, for its time and peak memory.

Usage: python campaign_run.py infer URL CAMPAIGN [MEMORY [SCHEDULER]]
       python campaign_run.py command WORD...

Prints seconds and gigabytes as JSON on the last line.
"""

import contextlib
import json
import os
import sys
import time
from pathlib import Path

from sqlalchemy import delete

from peak_memory import peak_gigabytes
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.results.large_campaigns import LargeCampaigns
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.commands.main import main as run_command


def infer(url, campaign, memory="1e9", scheduler=None):
    """Write the results of a campaign anew, as the server's own process does.

    It may take so many bytes in memory; a Dask cluster passes over what takes more.
    """
    database = Database.open(url)
    with database.write() as connection:  # what was found before would do
        earlier = tables.inference.c.campaign_id == bytes.fromhex(campaign)
        connection.execute(delete(tables.inference).where(earlier))
    large = LargeCampaigns(memory=float(memory), scheduler=scheduler)
    assert Inferrer(database, large).infer(bytes.fromhex(campaign))
    database.close()


def command(*words):
    """Run a command; what it prints is thrown away."""
    sys.argv[1:] = words
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        try:
            run_command()
        except SystemExit as end:
            if end.code:
                raise


def main():
    """Do one of the two."""
    start = time.perf_counter()
    {"infer": infer, "command": command}[sys.argv[1]](*sys.argv[2:])
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "gigabytes": peak_gigabytes()}))


if __name__ == "__main__":
    main()
