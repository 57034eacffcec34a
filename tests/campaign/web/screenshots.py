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

WIDTHS = {360: 740, 1280: 800}
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
TOWNS = qc.RandomizedResponse(
    domain=qc.Categorical([*("Market", "Marsh", "Old Malthouse"), *map(str, range(1901, 1931))]),
    epsilon=3.0,
)
MECHANISMS = {"labels": LABELS, "numbers": NUMBERS, "levels": LEVELS, "towns": TOWNS}
"""A campaign with each is shown."""

SCALE = {"1": "Not sure at all", "5": "Very sure"}

HEDGES = "id,question,gold\n" + "".join(
    f"h{place},Is there a nest in hedge {place}?,{'yes' if place == 0 else ''}\n"
    for place in range(20)
)

CROWD = 8


@frozen
class Studio:
    """A requester, the campaigns, and where pictures of one size and scheme go."""

    desk: Desk
    labels: str
    numbers: str
    levels: str
    towns: str
    shares: str
    folder: Path
    end: str

    def take(self, person, name):
        """Take a picture of all of a page."""
        person.page.screenshot(path=self.folder / f"{name}-{self.end}.png", full_page=True)


def campaign(desk, mechanism, scale, goal="truths"):
    """Return an open campaign with a song a task."""
    made = desk.draft(mechanism, title="Birds of the town", goal=goal, **PROMISES)["id"]
    for place in range(3):
        data = {"question": f"Which bird sings in recording {place + 1}?", **scale}
        task = {"task": f"t{place}", "data": data}
        desk.client.post(f"/campaigns/{made}/tasks", json=[task]).raise_for_status()
    desk.client.post(f"/campaigns/{made}/open").raise_for_status()
    return made


def campaigns(desk):
    """Return campaigns of three kinds of answers; a crowd has answered two of them."""
    found = {}
    for name, mechanism in MECHANISMS.items():
        found[name] = campaign(desk, mechanism, SCALE if name == "levels" else {})
    found["shares"] = campaign(desk, LABELS, {}, "shares")
    for place in range(CROWD):
        song = SONGS.labels[place % 3]
        for name in ("labels", "shares"):
            desk.worker(found[name]).send_all(LABELS, dict.fromkeys(("t0", "t1", "t2"), song))
        desk.worker(found["numbers"]).send_all(NUMBERS, {"t0": place / 2, "t2": 10.0 - place})
    for name in ("labels", "numbers", "shares"):
        Inferrer(desk.server.database).infer(bytes.fromhex(found[name]))
    return found


def unfold(worker):
    worker.page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")


def from_the_link_to_the_receipt(studio, worker):
    """Play a whole campaign of labels."""
    worker.open(studio.desk.link(studio.labels))
    studio.take(worker, "worker-01-landing")
    worker.consider()
    studio.take(worker, "worker-02-consent")
    unfold(worker)
    studio.take(worker, "worker-03-consent-unfolded")
    worker.press("Take part")
    worker.heading("If you are interrupted")
    studio.take(worker, "worker-04-started")
    worker.start()
    studio.take(worker, "worker-05-question")
    worker.choose("robin")
    worker.question(2)
    studio.take(worker, "worker-06-answered-and-undo")
    worker.choose(None)
    worker.question(3)
    studio.take(worker, "worker-07-skipped")
    worker.press("Menu")
    worker.heading("Menu")
    unfold(worker)
    studio.take(worker, "worker-08-menu")
    worker.press("Back")
    worker.question(3)
    worker.choose("I cannot tell")
    worker.page.locator("#send").wait_for()
    studio.take(worker, "worker-09-review")
    worker.press("Back")
    worker.question(3)
    worker.page.context.set_offline(True)
    worker.page.get_by_text("No connection.").wait_for()
    studio.take(worker, "worker-10-answered-before-and-offline")
    worker.page.context.set_offline(False)
    worker.choose("blackbird")
    worker.page.locator("#send").wait_for()
    worker.send()
    worker.heading("Sending")
    studio.take(worker, "worker-11-sending")
    worker.arrive()
    studio.take(worker, "worker-12-receipt")
    unfold(worker)
    studio.take(worker, "worker-13-receipt-unfolded")


def after_the_receipt(studio, worker):
    """Come back, and leave."""
    worker.page.reload()
    worker.heading("Answered in this browser")
    studio.take(worker, "worker-14-return")
    worker.press("That was not me")
    worker.heading("This browser is taken")
    studio.take(worker, "worker-15-taken")
    worker.come_back()
    worker.heading("Sent. Thank you!")
    worker.press("Delete this site's data from this device")
    worker.heading("Delete this site's data from this device")
    studio.take(worker, "worker-16-forget")
    worker.press("Keep it")
    worker.heading("Sent. Thank you!")
    worker.press("Withdraw")
    worker.heading("Withdraw")
    studio.take(worker, "worker-17-withdraw")
    worker.press("Withdraw permanently")
    worker.heading("You have withdrawn")
    studio.take(worker, "worker-18-withdrawn")


def other_questions(studio, worker):
    """Show a number, levels, a list, and what a second campaign tells of the first."""
    worker.open(studio.desk.link(studio.numbers))
    studio.take(worker, "worker-20-landing-of-numbers")
    worker.join()
    studio.take(worker, "worker-21-number")
    worker.page.get_by_role("textbox").fill("11")
    worker.press("Next")
    studio.take(worker, "worker-22-number-outside")
    worker.choose(7.5)
    worker.question(2)
    worker.page.reload()
    worker.heading("Go on where you stopped?")
    studio.take(worker, "worker-23-resume")
    worker.press("Go on")
    worker.question(2)
    worker.choose(2.5)
    worker.question(3)
    worker.choose(None)
    worker.page.locator("#send").wait_for()
    studio.take(worker, "worker-24-review-of-numbers")
    worker.send()
    worker.arrive()
    unfold(worker)
    studio.take(worker, "worker-25-receipt-of-numbers")
    worker.open(studio.desk.link(studio.levels))
    studio.take(worker, "worker-26-landing-of-a-sketch")
    worker.consider()
    studio.take(worker, "worker-27-consent-to-a-sketch")
    worker.press("Take part")
    worker.start()
    studio.take(worker, "worker-28-levels")
    worker.open(studio.desk.link(studio.towns)).join()
    worker.page.get_by_role("searchbox").fill("ma")
    worker.page.get_by_text("match.").wait_for()
    studio.take(worker, "worker-29-search")


def ends(studio, worker):
    """Show where nothing can be done."""
    server = studio.desk.server.url
    worker.open(f"{server}/j/{studio.labels}")
    studio.take(worker, "worker-30-uninvited")
    worker.open(f"{server}/j/{'0' * 32}#i=qci_{'a' * 43}")
    studio.take(worker, "worker-31-refused")
    worker.page.goto(f"{server}/j/{studio.labels}?PROLIFIC_PID=1")
    studio.take(worker, "worker-32-query")
    worker.open(f"{server}/j/{studio.labels}")
    worker.press("Withdraw with a key")
    worker.heading("Withdraw")
    studio.take(worker, "worker-33-withdraw-with-a-key")


def not_started(studio, worker):
    """Show a page whose program was changed on the way."""
    worker.wire.changes["/worker/page.js"] = lambda content, _: content + b" "
    worker.page.goto(studio.desk.link(studio.labels))
    worker.page.get_by_text("This page has not started.").wait_for()
    studio.take(worker, "worker-34-not-started")


def saved(studio, worker):
    """Show the page that was saved as a file."""
    content = studio.desk.server.client().get(f"{studio.desk.server.url}/worker/saved.html")
    file = studio.folder / "saved.html"
    file.write_bytes(content.raise_for_status().content)
    worker.open(file.resolve().as_uri())
    studio.take(worker, "worker-35-saved")
    file.unlink()


def entrances(studio, requester):
    """Show what a requester sees first: the key, the list, a link."""
    server, key = studio.desk.server.url, studio.desk.key
    requester.page.goto(f"{server}/dashboard/{studio.labels}")
    requester.heading("Sign in")
    studio.take(requester, "studio-01-key")
    requester.page.goto(f"{server}/#k={key}")
    requester.alert()
    studio.take(requester, "studio-02-key-in-the-address")
    requester.give(key)
    studio.take(requester, "studio-03-list")
    requester.follow(studio.desk.dashboard(studio.labels))
    requester.page.get_by_text("Which bird sings in recording 2?").wait_for()
    studio.take(requester, "studio-04-by-a-link")


def campaigns_in_studio(studio, requester):
    """Show the parts of campaigns that were opened."""
    server, key = studio.desk.server.url, studio.desk.key
    for place, campaign in enumerate((studio.numbers, studio.levels, studio.labels), start=5):
        requester.open(server, campaign, key)
        studio.take(requester, f"studio-0{place}-results")
    requester.go("Act")
    studio.take(requester, "studio-11-act")
    requester.press("Delete…")
    requester.page.get_by_label("Type its title to confirm").wait_for()
    studio.take(requester, "studio-12-delete")
    requester.press("Cancel")
    requester.go("Privacy")
    studio.take(requester, "studio-13-privacy")


def new_campaign(studio, requester):
    """Go through the five steps, with a forecast that is as good as guessing."""
    page = requester.page
    requester.open(studio.desk.server.url, "", studio.desk.key)
    requester.press("New campaign")
    requester.heading("What do you want to ask?")
    studio.take(requester, "studio-21-new")
    file = {"name": "hedges.csv", "mimeType": "text/csv", "buffer": HEDGES.encode()}
    page.locator("#files").set_input_files(file)
    use = page.get_by_role("button", name="Use these 20 questions")
    use.wait_for()
    studio.take(requester, "studio-22-file")
    use.click()
    page.get_by_text("Added: 20 questions.").wait_for()
    studio.take(requester, "studio-23-questions")
    requester.go("Next: preview", "What people will see")
    page.frame_locator("iframe").get_by_role("button", name="Continue").wait_for()
    studio.take(requester, "studio-24-preview")
    requester.go("Next: people and privacy", "People and privacy")
    page.get_by_label("How many people will answer?").fill("12")
    page.get_by_label("How many people will answer?").blur()
    page.get_by_text("As good as guessing", exact=True).wait_for()
    page.locator("#curve polyline").wait_for(state="attached")
    studio.take(requester, "studio-25-as-good-as-guessing")
    requester.go("Next: who asks", "Who asks, and for how long")
    studio.take(requester, "studio-26-who-asks")
    requester.go("Next: check and open", "Check, then open")
    page.get_by_text("With 12 people").wait_for()
    studio.take(requester, "studio-27-check")


def shares_and_links(studio, requester):
    """Show the shares of a campaign with that goal, and its links."""
    requester.open(studio.desk.server.url, studio.shares, studio.desk.key)
    requester.page.locator(".interval").first.wait_for()
    studio.take(requester, "studio-08-shares")
    requester.go("Invite", "Invite people")
    requester.press("For a trial on this computer, make them anyway")
    requester.page.locator("#make").click()
    requester.page.locator("#sheet-shown svg").first.wait_for()
    studio.take(requester, "studio-10-invite")


SCENES = (
    (WorkerInBrowser, (from_the_link_to_the_receipt, after_the_receipt)),
    (WorkerInBrowser, (other_questions,)),
    (WorkerInBrowser, (ends,)),
    (WorkerInBrowser, (not_started,)),
    (WorkerInBrowser, (saved,)),
    (RequesterInBrowser, (entrances, campaigns_in_studio)),
    (RequesterInBrowser, (new_campaign,)),
    (RequesterInBrowser, (shares_and_links,)),
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
