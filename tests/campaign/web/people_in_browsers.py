"""Workers and requesters in a browser: they find what they press by its role and its name."""

import json
import re
from contextlib import contextmanager
from itertools import count

from attrs import define
from tests.campaign.waiting import in_time
from tests.campaign.web.wire import Wire, wire

NOTED = """
(() => {
  const given = crypto.getRandomValues.bind(crypto);
  window.words = [];
  crypto.getRandomValues = (array) => {
    window.words.push([array.constructor.name, array.length]);
    return %s;
  };
})();
"""

NOTE_WORDS = NOTED % "given(array)"
"""Notes how many random numbers a page asks for: the only source that it has."""

SAME_WORDS = NOTED % (
    "array.length === 32 ? given(array) : "  # a credential is nobody else's
    "(array.set(array.map((_, i) => Math.imul(-1640531535, 97 * words.length + i + 1))), array)"
)
"""Besides, gives every page the same numbers, one after the other."""


BLOCKED = "Service Worker registration blocked by Playwright"
"""What it writes where somebody has no service worker, which saves a test half of its requests."""


_HASTE = 100
"""After so many jumps of the page's clock a slow server gets time to answer between two."""


@define(slots=False)
class Person:
    """Somebody at a page.

    Attributes
    ----------
    page : Page
        Of Playwright.
    wire : Wire
        Through which all goes that leaves the browser.
    told : list of str
        What the page wrote where developers look, and what it failed with.
    quick : bool
        Whether the page's clock runs ahead of that on the wall.
    """

    page: object
    wire: Wire
    told: list
    quick: bool

    def press(self, name):
        """Press a button: by a click, or by a finger."""
        button = self.page.get_by_role("button", name=name, exact=True)
        button.tap() if self.touches else button.click()

    @property
    def touches(self):
        return self.page.evaluate("navigator.maxTouchPoints > 0")

    def heading(self, name):
        """Wait for a screen."""
        self.page.get_by_role("heading", level=1, name=name, exact=True).wait_for()

    @property
    def title(self):
        return self.page.get_by_role("heading", level=1).inner_text()

    def alert(self):
        """Return what the page warns of, once it does."""
        shown = self.page.get_by_role("alert").filter(has_text=re.compile("."))
        shown.first.wait_for()
        return shown.first.inner_text()

    def text(self):
        return self.page.locator("main").inner_text()


class WorkerInBrowser(Person):
    """A worker at the page on which one answers."""

    def open(self, link):
        """Open a link, as somebody does who was given it."""
        self.page.goto(link)
        self.page.locator("h1[tabindex]").wait_for()
        return self

    def consider(self):
        """Go from the first screen to that of consent."""
        self.press("Continue")
        self.heading("Before you start")

    def join(self):
        self.consider()
        self.press("Take part")
        self.start()

    def start(self):
        """Wait for the first question; who has an invite is shown a code before."""
        asked = self.page.locator("#count:not(:empty)")
        code = self.page.get_by_role("heading", name="If you are interrupted")
        asked.or_(code).wait_for()
        if not asked.count():
            self.press("Start")
        self.question(1)

    def question(self, place):
        """Wait for a question."""
        self.page.locator("#count").get_by_text(f"{place} of ").wait_for()

    def choose(self, answer):
        """Give an answer to the question that is shown; None leaves it out."""
        if answer is None:
            self.press("Skip this question")
        elif isinstance(answer, float):
            self.page.get_by_role("textbox").fill(str(answer))
            self.press("Next")
        else:
            self.press(answer)

    def answer(self, answers):
        """Give answers to all questions, one after the other."""
        for place, given in enumerate(answers):
            self.question(place + 1)
            self.choose(given)
        self.page.locator("#send").wait_for()

    def go_back(self, questions):
        """Go from the review to the first of so many questions."""
        self.page.locator("#send").wait_for()
        for place in range(questions, 0, -1):
            self.press("Back")
            self.question(place)

    def send(self):
        self.press("Send")

    def arrive(self, heading="Sent. Thank you!"):
        """Wait until the server has the reports; return the withdrawal key."""
        heading = self.page.get_by_role("heading", level=1, name=heading, exact=True)
        turns = count()

        def is_there():
            turn = next(turns)
            if self.quick and (turn < _HASTE or turn % _HASTE == 0):
                self.page.clock.fast_forward(2_000)
            self.page.wait_for_load_state()  # meanwhile the wire answers
            return heading.is_visible()

        assert in_time(is_there), self.text()
        return self.page.locator("#withdrawal-key").inner_text()

    def come_back(self):
        """Load the page again, and say that it was oneself who started."""
        self.page.reload()
        self.press("Go on")

    def play(self, link, answers):
        """Do all that comes before sending."""
        self.open(link).join()
        self.answer(answers)
        return self

    @property
    def words(self):
        """How many random numbers the page asked for: pairs of a kind of array and a length."""
        return self.page.evaluate("window.words")

    def upload(self):
        """Return what was sent, once only."""
        assert len(set(self.wire.uploads)) == 1
        return json.loads(self.wire.uploads[0])


class WorkerWithKeyboard(WorkerInBrowser):
    """A worker who has neither a mouse nor a touch screen."""

    def press(self, name):
        """Go from one thing to the next until a button has the focus; then press it."""
        self.page.locator("[inert]").first.wait_for(state="detached")
        for _ in range(60):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("document.activeElement.textContent.trim()") == name:
                self.page.keyboard.press("Enter")
                return
        raise AssertionError(f"no way leads to {name!r}")

    def choose(self, answer):
        """Answer by the digit that stands beside an answer."""
        if answer is None:
            self.press("Skip this question")
            return
        names = self.page.get_by_role("group").locator("button span").all_inner_texts()
        self.page.locator("[inert]").first.wait_for(state="detached")
        self.page.keyboard.press(str(names.index(answer) + 1))


_ARRIVED = re.compile("^(Campaigns|Results|What do you want to ask.)$")


class RequesterInBrowser(Person):
    """A requester at the studio."""

    def open(self, url, campaign, key):
        """Show a campaign, or, without one, the list of all."""
        self.page.goto(f"{url}/dashboard/{campaign}")
        return self.give(key)

    def give(self, key):
        """Type a key where it is asked for."""
        self.field.fill(key)
        self.press("Sign in")
        return self.arrived()

    @property
    def field(self):
        """Where a key is typed."""
        return self.page.get_by_label(re.compile("^Requester.s key$"))

    def follow(self, link):
        """Open a link that works once."""
        self.page.goto(link)
        return self.arrived()

    def go(self, name, heading=None):
        """Follow a link to another screen, and wait for its heading."""
        self.page.get_by_role("link", name=name, exact=True).click()
        self.heading(heading or name)

    def arrived(self):
        """Wait for the list, or for a campaign and the first look at its results."""
        self.page.get_by_role("heading", level=1, name=_ARRIVED).wait_for()
        if self.title == "Results":
            self.page.get_by_text("up to date", exact=True).wait_for()
        return self

    def look_again(self):
        """Wait until the studio has looked at the server and shown what it found.

        The first look may have begun before; the second begins after the first has ended.
        """
        for _ in range(2):
            self.page.locator("#connection").evaluate("(told) => void (told.textContent = '')")
            self.page.clock.fast_forward(3_500)
            self.page.get_by_text("up to date", exact=True).wait_for()

    def count(self, name):
        """Return one of the numbers below the title."""
        card = self.page.locator("#funnel > div").filter(has_text=name)
        return int(card.locator(".big").inner_text())

    def table(self, name):
        """Return the rows of a table: texts."""
        rows = self.page.get_by_role("region", name=name).get_by_role("row").all()
        return [row.inner_text().split("\t") for row in rows]


@contextmanager
def somebody(browser, kind=WorkerInBrowser, *, quick=False, words=NOTE_WORDS, **options):
    """Give a person with a browser of their own, and a wire.

    `quick`: a clock that runs ahead; `words`: a script that stands before random numbers.
    """
    with wire() as opened:
        settings = {"locale": "en-US", "proxy": {"server": opened.url}, **options}
        context = browser.new_context(**settings)
        try:
            yield new_person(context, opened, kind, quick=quick, words=words)
        finally:
            context.close()


def new_person(context, opened, kind=WorkerInBrowser, *, quick=False, words=NOTE_WORDS):
    """Return a person at a new page of a browser."""
    page = context.new_page()
    told = []
    page.on("console", lambda message: message.text == BLOCKED or told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept())
    page.add_init_script(words)
    if quick:
        page.clock.install()
    return kind(page, opened, told, quick)
