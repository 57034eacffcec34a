"""A server of several campaigns, without a network, as both clients speak to it."""

import json

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
    lose_places : int
        How many answers are lost to those who take their place.
    problem : str, optional
        Why no place is given.
    allot : callable, optional
        Says which tasks are handed out instead, of all ids, each time that they are asked for.
    bound : dict
        What a worker is bound to, whatever they ask for: choice, spent rounds; or another slot.
    """

    campaigns: list
    receipt: object = None
    lose: int = 0
    allot: object = None
    lose_places: int = 0
    problem: str | None = None
    bound: dict = Factory(dict)
    placed: set = Factory(set)
    members: dict = Factory(dict)
    uploads: list = Factory(list)
    requests: list = Factory(list)

    def answer(self, method, path, credential, body):
        """Return a status and a text, or `LOST`."""
        self.requests.append((method, path, body))
        name = next((one for one in self.campaigns if one.id in path), None)
        if "/participants/" in path:
            self.members[credential] = name
            asked = {name: json.loads(body).get(name) for name in ("choice", "slot")}
            return 201, json.dumps({**asked, "rounds": [], **self.bound})
        if name is not None:
            return 200, name.text if path.endswith("/config") else json.dumps(self._public(name))
        if path.endswith("/me/place"):
            return self._place(credential)
        if method == "DELETE":
            del self.members[credential]
            return 204, ""
        if method == "POST":
            return self._take(credential, body)
        listed = self.members[credential].listed
        if self.allot is not None and "/me/tasks" in path:
            document = json.loads(listed)
            document["allotted"] = self.allot([task["task_id"] for task in document["tasks"]])
            listed = json.dumps(document)
        return 200, listed

    def _public(self, campaign):
        said = {"state": "open", "join_mode": "open"}
        return {**said, "config_hash": campaign.hash, "config": campaign.config}

    def _place(self, credential):
        assert self.members[credential]
        if self.lose_places:
            self.lose_places -= 1
            return LOST
        if self.problem is not None:
            return 409, json.dumps({"type": f"urn:quietcrowd:problem:{self.problem}"})
        self.placed.add(credential)
        return 204, ""

    def _take(self, credential, body):
        assert credential in self.placed
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
