"""Pictures of every screen of both pages, for people to look at: what no test sees.

Usage: python -m tests.campaign.web.screenshots FOLDER
"""

import sys
import tempfile
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path

from attrs import frozen
from tests.campaign.people import Desk, Running, new_desk
from tests.campaign.web.browser import chromium
from tests.campaign.web.people_in_browsers import RequesterInBrowser, WorkerInBrowser, somebody

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.mechanisms import MatrixFactorization

WIDTHS = {320: 568, 1280: 800}
SCHEMES = ("light", "dark")

SONGS = qc.Categorical(["robin", "blackbird", "I cannot tell"])
PROMISES = {
    "requester": "Institute of Birds",
    "contact": "birds@example.org",
    "purpose": "To learn how well people tell birds apart by their songs.",
    "description": "You hear a song.\nSay which bird it is.",
    "completion_code": "BIRD-77",
    "at_least": 3,
}
LABELS = qc.RandomizedResponse(domain=SONGS, epsilon=1.0)
NUMBERS = qc.LaplaceMechanism(
    domain=qc.Interval(low=0.0, high=10.0), epsilon=1.0, participation="released"
)
LEVELS = MatrixFactorization(domain=qc.Ordinal(range(1, 6)), epsilon=1.0, rank=4)
"""A campaign with each is shown."""

CROWD = 8


@frozen
class Studio:
    """A requester, the campaigns, and where pictures of one size and scheme go."""

    desk: Desk
    labels: str
    numbers: str
    levels: str
    folder: Path
    end: str

    def take(self, person, name):
        """Take a picture of all of a page."""
        person.page.screenshot(path=self.folder / f"{name}-{self.end}.png", full_page=True)


def campaigns(desk):
    """Return campaigns of three kinds of answers; a crowd has answered two of them."""
    found = {}
    for name, mechanism in (("labels", LABELS), ("numbers", NUMBERS), ("levels", LEVELS)):
        found[name] = desk.campaign(mechanism, about=f"{name}: song", title="Birds", **PROMISES)
    for place in range(CROWD):
        song = SONGS.labels[place % 3]
        desk.worker(found["labels"]).send_all(LABELS, dict.fromkeys(("t0", "t1", "t2"), song))
        desk.worker(found["numbers"]).send_all(NUMBERS, {"t0": place / 2, "t2": 10.0 - place})
    for name in ("labels", "numbers"):
        Inferrer(desk.server.database).infer(bytes.fromhex(found[name]))
    return found


def from_consent_to_receipt(studio, worker):
    """Play a whole campaign of labels."""
    worker.open(studio.desk.link(studio.labels))
    worker.heading("Do you want to take part?")
    studio.take(worker, "worker-01-consent")
    worker.join()
    studio.take(worker, "worker-02-question")
    worker.press("Next")
    studio.take(worker, "worker-03-nothing-chosen")
    worker.answer(["robin", None, "I cannot tell"])
    studio.take(worker, "worker-04-review")
    worker.send()
    worker.heading("Your reports are on their way")
    studio.take(worker, "worker-05-sending")
    key = worker.arrive()
    worker.page.get_by_text("Show what left this device").click()
    studio.take(worker, "worker-06-receipt")
    return key


def after_the_receipt(studio, worker):
    """Come back, and leave."""
    worker.page.reload()
    worker.heading("Are you the person who joined on this device?")
    studio.take(worker, "worker-07-return")
    worker.press("No")
    worker.heading("This device is taken")
    studio.take(worker, "worker-08-taken")
    worker.come_back()
    worker.heading("Sent. Thank you")
    worker.press("Forget me on this device")
    worker.heading("Forget me on this device")
    studio.take(worker, "worker-09-forget")
    worker.press("Forget nothing")
    worker.heading("Sent. Thank you")
    worker.press("Withdraw")
    worker.heading("Withdraw")
    studio.take(worker, "worker-10-withdraw")
    worker.press("Withdraw permanently")
    worker.heading("You have withdrawn")
    studio.take(worker, "worker-11-withdrawn")


def other_questions(studio, worker):
    """Show a number, levels, a sketch, and what a second campaign tells of the first."""
    worker.open(studio.desk.link(studio.numbers)).join()
    studio.take(worker, "worker-12-number")
    worker.page.get_by_role("textbox").fill("11")
    worker.press("Next")
    studio.take(worker, "worker-13-number-outside")
    worker.answer([7.5, None, 2.5])
    studio.take(worker, "worker-14-review-of-numbers")
    worker.send()
    worker.arrive()
    worker.page.get_by_text("Show what left this device").click()
    studio.take(worker, "worker-15-receipt-of-numbers")
    worker.open(studio.desk.link(studio.levels))
    studio.take(worker, "worker-16-consent-to-a-sketch")
    worker.join()
    studio.take(worker, "worker-17-levels")


def ends(studio, worker):
    """Show where nothing can be done."""
    server = studio.desk.server.url
    worker.open(f"{server}/j/{studio.labels}")
    studio.take(worker, "worker-18-uninvited")
    worker.open(f"{server}/j/{'0' * 32}#i=qci_{'a' * 43}")
    studio.take(worker, "worker-19-refused")
    worker.page.goto(f"{server}/j/{studio.labels}?PROLIFIC_PID=1")
    studio.take(worker, "worker-20-query")
    worker.open(f"{server}/j/{studio.labels}")
    worker.press("Withdraw with a key")
    studio.take(worker, "worker-21-withdraw-with-a-key")
    worker.wire.changes["draw.js"] = lambda content, _: content + b" "
    worker.page.goto(studio.desk.link(studio.labels))
    worker.page.reload()
    worker.page.get_by_text("This page has not started.").wait_for()
    studio.take(worker, "worker-22-not-started")


def saved(studio, worker):
    """Show the page that was saved as a file."""
    content = studio.desk.server.client().get(f"{studio.desk.server.url}/worker/saved.html")
    file = studio.folder / "saved.html"
    file.write_bytes(content.raise_for_status().content)
    worker.open(file.resolve().as_uri())
    studio.take(worker, "worker-23-saved")
    file.unlink()


def dashboards(studio, requester):
    """Show what a requester sees."""
    server, key = studio.desk.server.url, studio.desk.key
    requester.page.goto(f"{server}/dashboard/{studio.labels}")
    requester.heading("Dashboard")
    studio.take(requester, "dashboard-1-key")
    requester.page.goto(f"{server}/#k={key}")
    requester.alert()
    studio.take(requester, "dashboard-5-key-in-the-address")
    requester.give(key)
    studio.take(requester, "dashboard-6-list")
    requester.follow(studio.desk.dashboard(studio.labels))
    requester.page.get_by_text("live", exact=True).wait_for()
    requester.page.get_by_text("Is labels: song 1?").wait_for()
    studio.take(requester, "dashboard-7-by-a-link")
    for place, campaign in enumerate((studio.labels, studio.numbers, studio.levels), start=2):
        requester.open(server, campaign, key)
        requester.page.get_by_text("live", exact=True).wait_for()
        studio.take(requester, f"dashboard-{place}")


def plans(studio, requester):
    """Plan a campaign of labels, and one like that of numbers; see a mistake told at its field."""
    requester.open(studio.desk.server.url, "plan", studio.desk.key)
    requester.heading("Plan a campaign")
    studio.take(requester, "dashboard-8-plan")
    for name, text in (("Tasks", "100"), ("Workers", "20, 50, 100"), ("Labels", "no, yes")):
        requester.fill(name, text)
    requester.fill("Answers per worker", "20")
    requester.fill("Target error", "0.2")
    requester.make_plan()
    requester.page.get_by_role("button", name="one-layer").nth(2).click()
    studio.take(requester, "dashboard-9-planned")
    requester.fill("Tasks", "0")
    requester.press("Plan")
    requester.alert()
    studio.take(requester, "dashboard-10-mistake")
    requester.open(studio.desk.server.url, studio.numbers, studio.desk.key)
    requester.press("Plan the error at another ε")
    requester.heading("Plan a campaign")
    requester.fill("Tasks", "60")
    requester.fill("Workers", "30")
    requester.fill("Unit", "°C")
    requester.make_plan()
    requester.page.get_by_text("Assumptions about the crowd").click()
    studio.take(requester, "dashboard-11-planned-numbers")


SCENES = (
    (WorkerInBrowser, (from_consent_to_receipt, after_the_receipt)),
    (WorkerInBrowser, (other_questions,)),
    (WorkerInBrowser, (ends,)),
    (WorkerInBrowser, (saved,)),
    (RequesterInBrowser, (dashboards, plans)),
)


@contextmanager
def running():
    """Give a requester of a server of one's own."""
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/quietcrowd.db"
        server = Running(
            Settings(database=database, infer=False, requests_per_second=0, longest_plan=600)
        ).start()
        try:
            yield new_desk(server)
        finally:
            server.stop()


def main():
    """Take all pictures."""
    warnings.simplefilter("ignore", qc.exceptions.QuietcrowdWarning)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        desk = stack.enter_context(running())
        browser = stack.enter_context(chromium())
        found = campaigns(desk)
        for width, height in WIDTHS.items():
            for scheme in SCHEMES:
                studio = Studio(desk, **found, folder=folder, end=f"{width}-{scheme}")
                size = {"width": width, "height": height}
                for kind, scenes in SCENES:
                    with somebody(browser, kind, viewport=size, color_scheme=scheme) as person:
                        for scene in scenes:
                            scene(studio, person)
    print(f"{len(list(folder.glob('*.png')))} pictures are in {folder}")


if __name__ == "__main__":
    main()
