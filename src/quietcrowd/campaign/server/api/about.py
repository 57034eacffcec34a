"""The server itself: its public address and version."""

from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from quietcrowd import __version__
from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Requester
from quietcrowd.campaign.terms.server_address import address_of_host, is_here
from quietcrowd.campaign.terms.settings import PREFIX
from quietcrowd.exceptions import ParameterError

router = APIRouter(prefix=f"{PREFIX}/server", tags=["server"])


class ServerDocument(BaseModel):
    """A server, as requesters need to know it."""

    address: str = Field(
        description="With which links to campaigns begin: the setting `public_url`, or else the "
        "host of this request."
    )
    local: bool = Field(description="Whether such links open on the server's computer only.")
    version: str


def public_address(request: Request) -> str:
    """Return the address of the server in links, or raise ProblemError for an invalid host."""
    try:
        found: str = request.app.state.address or address_of_host(request.headers.get("host", ""))
    except ParameterError:
        raise ProblemError("malformed", "Use the host name of the server.") from None
    return found


def is_local(address: str) -> bool:
    """Return whether an address leads to the server on its own computer only."""
    return is_here(urlsplit(address).hostname or "")


@router.get("", responses=documented("credential"))
def read_server(request: Request, requester: Requester) -> ServerDocument:  # noqa: ARG001
    """Return the address of the server in links, and its version."""
    address = public_address(request)
    return ServerDocument(address=address, local=is_local(address), version=__version__)
