"""The page's modules in Chromium, as the conformance suite drives them."""

from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from attrs import define
from tests.campaign.conformance.server import LOST, ORIGIN
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


@define
class PageClient:
    """Pages of a browser, each profile a device of its own."""

    browser: object
    page: object

    @classmethod
    def of(cls, browser):
        page = browser.new_page()
        serve(page, FOLDERS)
        return cls(browser, page)

    def read(self, campaign, asked=None):
        """Return losses, sentences and the law of a configuration, or that it is refused."""
        return self.page.evaluate(CALL, ["read", spelled(campaign), asked])

    def questions(self, campaign, listed=None):
        return self.page.evaluate(CALL, ["questions", spelled(campaign), listed])

    def upload(self, campaign, answers, words):
        return self.page.evaluate(CALL, ["upload", spelled(campaign), answers, list(words)])

    @contextmanager
    def device(self, server, origin=ORIGIN):
        """Give a new device, which speaks to a server at an origin."""
        context = self.browser.new_context()
        yield PageDevice.of(context, server, origin)
        context.close()


@define
class PageDevice:
    """What steps of a case do."""

    page: object
    any_campaign: str

    @classmethod
    def of(cls, context, server, origin):
        page = context.new_page()
        serve(page, FOLDERS)
        page.route("**/api/v1/**", lambda route: _fulfill(route, server))
        page.goto(f"{origin}/")
        return cls(page, server.campaigns[0].id)

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
            return None
        if step == "set_budget":
            given = (*given, self.any_campaign)
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
