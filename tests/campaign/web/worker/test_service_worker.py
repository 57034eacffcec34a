"""What keeps the worker's page on a device: the page and its files, of one release at a time."""

import json

import pytest
from attrs import define
from starlette.responses import Response
from starlette.routing import Route
from tests.campaign.people import Running
from tests.campaign.web.browser import wait_for_async

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.terms.settings import PREFIX
from quietcrowd.campaign.web.files import html_file

pytestmark = pytest.mark.slow

CAMPAIGN = "0123456789abcdef" * 2
POLICY = "default-src 'self'; script-src 'self' 'unsafe-inline'"
REGISTER = """async () => {
  await navigator.serviceWorker.register("service_worker.js");
  await navigator.serviceWorker.ready;
}"""
KEPT = """async () => {
  const cache = await caches.open("quietcrowd");
  const keys = await cache.keys();
  return keys.map(({ url }) => decodeURIComponent(url.replace(location.origin, "")));
}"""


@define
class Release:
    """A server's page, whose title is its version and that of its module."""

    url: str
    version: str = "1"
    wrong: bool = False

    def files(self):
        one = html_file(f'document.title = "page {self.version},";\n')
        other = html_file(f'document.title += " {self.version}";\n')
        return {"worker/one.js": one, "worker/other.js": other}

    def page(self):
        scripts = [
            f'<script type="module" src="../{path}" integrity="{file.integrity}"></script>'
            for path, file in self.files().items()
        ]
        return html_file(f"<!doctype html><title></title>{''.join(scripts)}{self.version}")

    def manifest(self):
        files = {path: file.integrity for path, file in self.files().items()}
        if self.wrong:
            files["worker/other.js"] = files["worker/one.js"]
        return json.dumps({"files": files, "page": self.page().integrity})

    def answer(self, request):
        path = request.url.path.lstrip("/")
        if path == "worker/manifest.json":
            return Response(self.manifest(), media_type="application/json")
        if path.startswith("j/"):
            return Response(
                self.page().content,
                media_type="text/html",
                headers={"Content-Security-Policy": POLICY},
            )
        return Response(self.files()[path].content, media_type="text/javascript")

    def kept(self):
        """Return what a browser keeps of it."""
        files = [f"/{path}?{file.integrity}" for path, file in self.files().items()]
        return {f"/j/{'0' * 32}", "/worker/manifest.json", *files}


@pytest.fixture
def release(tmp_path):
    settings = Settings(database=f"sqlite:///{tmp_path}/own.db", infer=False)
    running = Running(settings).start()
    release = Release(running.url)
    paths = ("/worker/{path:path}", f"/j/{CAMPAIGN}", f"/j/{'0' * 32}")
    running.app.router.routes[:0] = [Route(path, release.answer) for path in paths]
    yield release
    running.stop()


@pytest.fixture
def page(browser, release):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{release.url}/j/{CAMPAIGN}")
    yield page
    context.close()


def test_the_page_opens_without_a_network_and_nothing_else_is_kept(page, release):
    page.evaluate(REGISTER)
    page.evaluate(f"() => fetch('{PREFIX}/healthz')")
    assert set(page.evaluate(KEPT)) == release.kept()
    page.context.set_offline(True)
    page.goto(f"{release.url}/j/{CAMPAIGN}#i=qci_secret")
    page.reload()
    page.wait_for_function("() => document.title === 'page 1, 1'")
    asked = "() => fetch('PATH').then(() => 'answered', () => 'offline')"
    for path in (f"{PREFIX}/healthz", "../worker/saved.html", "../dashboard/1"):
        assert page.evaluate(asked.replace("PATH", path)) == "offline"
    assert set(page.evaluate(KEPT)) == release.kept()


def wait_until_kept(page, release, before):
    """Wait until a release is kept, with the files of the one before, and nothing else."""
    wait_for_async(
        page,
        f"""async ([manifest, wanted]) => {{
          const cache = await caches.open("quietcrowd");
          const kept = await cache.match("/worker/manifest.json"); // it is kept last
          const keys = await ({KEPT})();
          return (await kept.text()) === manifest && keys.sort().join() === wanted.join();
        }}""",
        [release.manifest(), sorted(release.kept() | before)],
    )


def test_a_new_release_is_there_the_next_time_and_never_half(page, release):
    page.evaluate(REGISTER)
    first = release.kept()
    release.version = "2"
    second = release.kept()
    page.reload()
    page.wait_for_function("() => document.title === 'page 1, 1'")
    wait_until_kept(page, release, first)
    release.version = "3"
    page.reload()
    page.wait_for_function("() => document.title === 'page 2, 2'")
    wait_until_kept(page, release, second)


def test_an_update_that_was_interrupted_changes_nothing(page, release):
    page.evaluate(REGISTER)
    first = release.kept()
    release.version = "2"
    (worker,) = page.context.service_workers
    worker.evaluate(
        """() => {
          const put = Cache.prototype.put;
          Cache.prototype.put = function (key, response) {
            const isPage = key === PAGE;
            return isPage ? Promise.reject(new Error("halted")) : put.call(this, key, response);
          };
          return update().catch(() => {});
        }"""
    )
    assert set(page.evaluate(KEPT)) == release.kept() | first
    page.context.set_offline(True)
    page.reload()
    page.wait_for_function("() => document.title === 'page 1, 1'")


@pytest.mark.nightly
def test_two_updates_at_once_keep_one_whole_release(page, release):
    page.evaluate(REGISTER)
    (worker,) = page.context.service_workers
    release.version = "2"
    second = release.kept()
    worker.evaluate(
        """() => new Promise((halted) => {
          const put = Cache.prototype.put;
          Cache.prototype.put = async function (key, response) {
            if (key === PAGE) {
              Cache.prototype.put = put; // the first page alone waits
              await new Promise((resolve) => ([self.goOn] = [resolve, halted()]));
            }
            return put.call(this, key, response);
          };
          self.first = update();
        })"""
    )
    release.version = "3"
    worker.evaluate(
        """async () => {
          const second = update();
          await Promise.race([second, new Promise((resolve) => setTimeout(resolve, 1000))]);
          goOn();
          await Promise.all([first, second]);
        }"""
    )
    wait_until_kept(page, release, second)


def test_files_that_are_not_those_of_the_manifest_are_not_kept(page, release):
    release.wrong = True
    with pytest.raises(Exception, match="register"):
        page.evaluate(
            """async () => {
              const { installing } = await navigator.serviceWorker.register("service_worker.js");
              await new Promise((resolve, reject) => {
                installing.onstatechange = () =>
                  installing.state === "redundant"
                    ? reject(new Error("not registered"))
                    : resolve();
              });
            }"""
        )
    assert page.evaluate(KEPT) == []
