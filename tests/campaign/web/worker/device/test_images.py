"""The images of tasks, as the worker's page fetches and shows them."""

import json

import pytest
from tests.campaign.pictures import HEADERS, NO_IMAGES, PICTURES, PNG, hash_of, image, png
from tests.campaign.web.browser import ORIGIN, serve
from tests.campaign.web.test_worker import WORKER

from quietcrowd.campaign.terms.images import image_kind

REFUSAL = """export class Refusal extends Error {}
export function refuseIf(isSo, key) {
  if (isSo) {
    throw new Refusal(key);
  }
}"""
NO_IMAGE = (
    *(None, 7, "text", [], {}, {"image": 7, "alt": ""}, {"image": "f" * 63, "alt": ""}),
    *({"image": "F" * 64, "alt": ""}, {"image": "f" * 64}, {"image": "f" * 64, "alt": None}),
    {"image": "f" * 64, "alt": "", "more": 1},
)


@pytest.fixture
def page(browser):
    """Return a page with the modules, without the one that most others need."""
    page = browser.new_page()
    serve(page, {"/worker": WORKER})
    page.route(
        "**/terms/terms.js",
        lambda route: route.fulfill(body=REFUSAL, content_type="text/javascript"),
    )
    yield page
    page.close()


FETCH = """async ([server, hashes]) => {
  const { fetchImages } = await import("/worker/device/images.js");
  window.counted = [];
  const onImage = (got, all) => window.counted.push([got, all]);
  const timing = { pause: 500, patience: 60_000, onImage };
  try {
    const images = await fetchImages(server, "qcw_mine", hashes, timing);
    const widths = {};
    for (const [hash, blob] of images) {
      const shown = new Image();
      shown.src = URL.createObjectURL(blob);
      await shown.decode();
      widths[hash] = shown.naturalWidth;
    }
    return widths;
  } catch (error) {
    return error.message;
  }
}"""


def answer_with(page, answer):
    """Answer all requests of images; return what was asked for."""
    asked = []

    def reply(route):
        asked.append(route.request)
        route.fulfill(**answer(route.request.url.rpartition("/")[2], len(asked)))

    page.route("**/api/v1/me/images/*", reply)
    return asked


@pytest.mark.nightly
@pytest.mark.slow
def test_all_images_are_fetched_in_one_order_and_shown(page):
    held = {hash_of(content): content for content in PICTURES.values()}
    asked = answer_with(page, lambda hash_, _: {"body": held[hash_], "content_type": "text/html"})
    names = [*held, *reversed(held)]
    assert page.evaluate(FETCH, [f"{ORIGIN}/below/", names]) == dict.fromkeys(held, 1)
    assert page.evaluate("window.counted") == [[got, len(held)] for got in range(len(held))]
    place = f"{ORIGIN}/below/api/v1/me/images/"
    assert [one.url for one in asked] == [place + hash_ for hash_ in sorted(held)]
    assert {one.headers["authorization"] for one in asked} == {"Bearer qcw_mine"}


@pytest.mark.nightly
@pytest.mark.parametrize(
    "answer",
    [
        {"body": png(7)},
        {"body": PNG + bytes(2**20)},
        {"status": 404, "body": ""},
        {"status": 401, "body": PNG},
    ],
)
def test_another_image_is_refused(page, answer):
    asked = answer_with(page, lambda *_: answer)
    assert page.evaluate(FETCH, [f"{ORIGIN}/", [hash_of(PNG)]]) == "refusal.image"
    assert len(asked) == 1


@pytest.mark.slow
def test_a_server_that_has_too_much_to_do_is_asked_again(page):
    page.clock.install()
    busy = {"status": 429, "headers": {"Retry-After": "2"}}
    asked = answer_with(page, lambda _, count: busy if count < 3 else {"body": PNG})
    page.clock.run_for(0)
    page.evaluate(f"() => {{ window.fetched = ({FETCH})(['{ORIGIN}/', ['{hash_of(PNG)}']]); }}")
    while len(asked) < 3:
        page.clock.run_for(500)
        page.wait_for_load_state()
    assert page.evaluate("() => window.fetched") == {hash_of(PNG): 1}


@pytest.mark.slow
@pytest.mark.parametrize("content", [png(width=60_000, height=60_000), NO_IMAGES["a GIF"]])
def test_what_has_its_hash_and_is_not_shown_is_refused(page, content):
    answer_with(page, lambda *_: {"body": content})
    assert page.evaluate(FETCH, [f"{ORIGIN}/", [hash_of(content)]]) == "refusal.image"


def is_shown(content):
    try:
        image_kind(content)
    except ValueError:
        return False
    return True


@pytest.mark.nightly
def test_the_page_reads_headers_as_python_does(page):
    contents = [*NO_IMAGES.values(), *(header for header, _ in HEADERS)]
    contents += [
        changed
        for one in PICTURES.values()
        for end in range(len(one))
        for changed in (one[:end], one[:end] + b"\xff" + one[end + 1 :])
    ]
    assert 0 < sum(map(is_shown, contents)) < len(contents)
    read = """async (contents) => {
      const { isShownImage } = await import("/worker/terms/images.js");
      return contents.map((content) => isShownImage(Uint8Array.from(content).buffer));
    }"""
    assert page.evaluate(read, [[*one] for one in contents]) == [*map(is_shown, contents)]


@pytest.mark.slow
def test_the_images_of_a_task(page):
    find = """async (task) => {
      const { imagesOf } = await import("/worker/device/images.js");
      return imagesOf(task);
    }"""
    shown = image(PNG, "A bird")
    data = {str(place): value for place, value in enumerate(NO_IMAGE)}
    task = {"data": {**data, "picture": shown}}
    assert page.evaluate(find, json.loads(json.dumps(task))) == [
        {"hash": hash_of(PNG), "alt": "A bird"}
    ]
