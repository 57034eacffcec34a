import pytest
from tests.campaign.conformance.page_client import PageClient
from tests.campaign.conformance.python_client import PythonClient
from tests.campaign.web.browser import chromium


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def page(browser):
    """Return the page's modules."""
    return PageClient.of(browser)


@pytest.fixture
def python(tmp_path):
    """Return the Python client."""
    return PythonClient(tmp_path)


@pytest.fixture(params=["python", "page"])
def client(request):
    """Return each of the two clients."""
    return request.getfixturevalue(request.param)
