"""A server of several campaigns, without a network, as both clients speak to it."""

import json
from collections import Counter

from attrs import Factory, define

OTHER_ORIGIN, ORIGIN = "http://127.0.0.1:8001", "http://localhost:8000"
"""What a browser holds to be two servers, and as safe as HTTPS."""

LOST = None
"""No answer comes."""


@define
class Server:
    """It takes everything in, and keeps what came.

    Attributes
    ----------
    campaigns : list of Campaign
        Told apart by their ids.
    receipt : callable, optional
        What becomes of a receipt before it is sent.
    lose : int
        How many answers to uploads are lost, after they were taken in.
    closed : bool
        What is said of all campaigns.
    """

    campaigns: list
    receipt: object = None
    lose: int = 0
    closed: bool = False
    members: dict = Factory(dict)
    uploads: list = Factory(list)
    requests: list = Factory(list)

    def answer(self, method, path, credential, body):
        """Return a status and a text, or `LOST`; what is asked is kept."""
        self.requests.append((method, path, body))
        name = next((one for one in self.campaigns if one.id in path), None)
        if path.endswith("/config"):
            return 200, name.text
        if "/participants/" in path:
            self.members[credential] = name
            return 201, "{}"
        if "/public/" in path:
            return 200, json.dumps(self._public(name))
        if method == "DELETE":
            self.members.pop(credential, None)
            return 204, ""
        if path.endswith("/me/tasks"):
            return 200, self.members[credential].listed
        if method == "POST":
            return self._take(credential, body)
        return 404, "{}"

    def _public(self, campaign):
        said = {"state": "closed" if self.closed else "open", "join_mode": "open"}
        return {**said, "config_hash": campaign.hash, "config": campaign.config}

    def _take(self, credential, body):
        self.uploads.append((self.members[credential].id, body))
        if self.lose:
            self.lose -= 1
            return LOST
        sent = json.loads(body)
        items = sent.get("reports", [sent.get("sketch")])
        document = {"accepted": len(items), "duplicates": 0, "rejected": []}
        if self.receipt is not None:
            document = self.receipt(document, items)
        return 200, json.dumps(document)

    def items(self, place=-1):
        """Return the reports of an upload, as they were sent; ids of reports are left out."""
        sent = json.loads(self.uploads[place][1])
        items = sent.get("reports", [sent.get("sketch")])
        return [
            {name: value for name, value in one.items() if name != "report_id"} for one in items
        ]

    @property
    def asked(self):
        """Which requests came, in turn, without what is random in their paths."""
        paths = ((method, path.partition("/participants/")[0]) for method, path, _ in self.requests)
        return list(paths)

    @property
    def twice(self):
        """Uploads that came with the same reports and other bytes: their campaigns."""
        bodies = Counter(campaign for campaign, _ in set(self.uploads))
        return [campaign for campaign, count in bodies.items() if count > 1]
