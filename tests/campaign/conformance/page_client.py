"""The page's modules in Chromium, as the conformance suite drives them."""

from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from attrs import define
from tests.campaign.conformance.server import LOST, ORIGIN, OTHER_ORIGIN
from tests.campaign.web.browser import serve

FOLDERS = {
    "": Path(__file__).parent,
    "/worker": Path(str(files("quietcrowd.campaign.web") / "worker")),
}
CALL = """async ([name, ...values]) => {
  const module = await import("./page_client.js");
  return module[name](...values);
}"""


def spelled(campaign):
    """Return a campaign as the page's driver takes it."""
    names = ("id", "text", "hash", "listed")
    return {name: getattr(campaign, name) for name in names}


DATABASES = "indexedDB.databases().then((all) => all.map(({ name }) => name))"


@define
class PageClient:
    """Pages of a browser: one that keeps nothing, and one that is a device."""

    page: object
    _device: "PageDevice"

    @classmethod
    def of(cls, browser):
        page = browser.new_page()
        serve(page, FOLDERS)
        return cls(page, PageDevice.of(browser.new_page()))

    def read(self, campaign, asked=None):
        """Return losses, sentences and distribution of a configuration, or that it is refused."""
        return self.page.evaluate(CALL, ["read", spelled(campaign), asked])

    def questions(self, campaign, listed=None):
        return self.page.evaluate(CALL, ["questions", spelled(campaign), listed])

    def upload(self, campaign, answers, words):
        return self.page.evaluate(CALL, ["upload", spelled(campaign), answers, list(words)])

    @contextmanager
    def device(self, server, origin=ORIGIN):
        """Give a new device, which speaks to a server at an origin."""
        self._device.begin(server, origin)
        yield self._device


@define
class PageDevice:
    """What steps of a case do.

    A new browser for each device would take most of the time of these tests: one is emptied.
    """

    page: object
    server: object = None
    moment: float | None = None

    @classmethod
    def of(cls, page):
        device = cls(page)
        serve(page, FOLDERS)
        page.route("**/api/v1/**", lambda route: _fulfill(route, device.server))
        return device

    def begin(self, server, origin):
        """Forget all, and speak to another server at an origin."""
        self.server, self.moment = server, None
        self.page.goto("about:blank")
        session = self.page.context.new_cdp_session(self.page)
        for one in (ORIGIN, OTHER_ORIGIN):
            everything = {"origin": one, "storageTypes": "all"}
            session.send("Storage.clearDataForOrigin", everything)
        session.detach()
        self.move(origin)
        assert self.page.evaluate(DATABASES) == []

    def move(self, origin):
        """Speak to the same server at another origin."""
        self.page.goto(f"{origin}/")

    def kept(self):
        """Return what the browser holds for the device, files left out."""
        return self.page.evaluate(CALL, ["kept"])

    def take(self, step, *given):
        """Return what a step gives, or that it is refused."""
        if step == "reload":
            self.page.reload()
            return None if self.moment is None else self.take("at", self.moment)
        if step == "at":
            [self.moment] = given
        if step == "set_budget":
            given = (*given, self.server.campaigns[0].id)
        return self.page.evaluate(CALL, ["take", step, *given])


def _fulfill(route, server):
    request = route.request
    credential = request.headers.get("authorization", "").removeprefix("Bearer ")
    path = urlsplit(request.url).path
    given = server.answer(request.method, path, credential, request.post_data or "")
    if given is LOST:
        route.abort()
        return
    status, text = given
    route.fulfill(status=status, body=text, content_type="application/json")
