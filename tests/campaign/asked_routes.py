"""Every route of the application, and what each kind of observer asks it in both of two worlds."""

from attrs import Factory, evolve, frozen
from tests.campaign.people import YES_NO
from tests.campaign.pictures import PNG, hash_of
from tests.campaign.promises import PROMISES
from tests.campaign.two_worlds import Past, Person

import quietcrowd as qc
from quietcrowd.campaign.terms.settings import MAX_SMALL_BODY
from quietcrowd.campaign.terms.tokens import new_code, new_token

API = "/api/v1"
OWN = f"{API}/campaigns/{{campaign}}"
PUBLIC = f"{API}/public/campaigns/{{campaign}}"
JOINING = f"{PUBLIC}/participants/{{participant}}"

DRAFT = {
    "title": "T",
    "mechanism": qc.RandomizedResponse(domain=YES_NO, epsilon=1.0).to_dict(),
    **PROMISES,
}
CSV = {"content": b"task,a\nnew,1\n", "headers": {"Content-Type": "text/csv"}}
NOBODY = "worker-0123456789abcdef"
ABSENT = "f" * 32
UNKNOWN, CODE = new_token("qci_"), new_code()

LAST = (
    ("DELETE", f"{API}/me"),
    ("PATCH", OWN),
    ("POST", f"{OWN}/invites"),
    ("POST", f"{OWN}/invites/revoke"),
    ("POST", f"{OWN}/invites/replace"),
    ("DELETE", f"{OWN}/invites"),
    ("DELETE", f"{OWN}/workers/{{worker}}"),
    ("POST", f"{OWN}/close"),
    ("DELETE", OWN),
    ("DELETE", f"{API}/keys/{{key}}"),
)
"""What ends something for other observers: asked in this order once all else was asked."""


@frozen(kw_only=True)
class Observer:
    """Somebody who does not hold the secret of the worker of whom there are two worlds."""

    name: str
    token: str | None = None
    person: Person = Factory(Person)
    code: str = ""
    joins: bool = True

    @property
    def thorough(self) -> bool:
        """Whether to ask for pages, too, which know nobody, and by other methods."""
        return self.name in ("nobody", "requester")


def observers(past: Past, link: str | None, *, link_joins: bool) -> list[Observer]:
    """Return all kinds; `link` is the invite of the worker, tried in earnest if that may show."""
    unused, held = Person(invite=past.unused), Person(invite=link)
    fresh = Person()
    kinds = [
        Observer(name="nobody"),
        Observer(name="stranger", token=fresh.credential, person=fresh),
        Observer(name="requester", token=past.key),
        Observer(name="another requester", token=past.other_key),
        Observer(name="reader", token=past.token),
        Observer(name="shown worker", token=past.shown[1].credential, person=past.shown[1]),
        Observer(name="waiting worker", token=past.waiting.credential, person=past.waiting),
        Observer(name="invited", token=unused.credential, person=unused),
        Observer(name="link", token=held.credential, person=held, joins=link_joins),
    ]
    return [evolve(one, code=code) for one, code in zip(kinds, past.codes, strict=True)]


def rows(past: Past, me: Observer) -> dict[tuple[str, str], list[dict]]:
    """Return what an observer asks each route; a request says what is not as usual.

    The member `named` holds what stands in the path in the place of what usually does.
    """
    person, both = me.person, [{}, {"named": {"campaign": past.draft}}]
    join = [
        {"json": past.join(person, config_hash="0" * 64)},
        {"json": past.join(person, more=1)},
        {"json": {"invite": person.invite}},
        {"json": past.join(person, config_hash=1)},
        {"content": b"{"},
        {"content": b"x" * (MAX_SMALL_BODY + 1)},
        {"json": past.join(person, invite=UNKNOWN)},
        {"json": past.join(person, code="0")},
        {"json": past.join(person), "named": {"participant": past.late.id}},
        *({"json": past.join(person), "named": {"campaign": one}} for one in (past.draft, ABSENT)),
        *(
            {"json": past.join(person, **members)}
            for members in (
                {"code": CODE, "continues": True},
                {"continues": True},
                {"code": CODE},
                {"code": CODE, "continues": True},
            )
            if me.joins
        ),
    ]
    task, other = past.tasks[:2]
    send = [
        {"json": {**past.upload(person.report(task)), "config_hash": "0" * 64}},
        {"json": past.upload(person.report("0" * 32), person.report(task, 7))},
        *({"json": past.upload(person.report(one))} for one in (task, task, other)),
        {"json": past.upload()},
    ]
    asked = {"headers": {"If-None-Match": "*"}}
    workers = [{"named": {"worker": one}} for one in (NOBODY, *past.names[:2])]
    return {
        ("PUT", JOINING): join,
        ("PUT", f"{API}/me/place"): [{}, {}],
        ("POST", f"{API}/me/reports"): send,
        **{("GET", f"{API}/me{one}"): [{}] for one in ("", "/tasks", "/reports")},
        ("GET", f"{API}/me/images/{{sha256}}"): [{}, {"named": {"sha256": "0" * 64}}],
        ("DELETE", f"{API}/me"): [{}],
        **{("GET", f"{API}/{one}"): [{}] for one in ("healthz", "readyz", "openapi.json", "keys")},
        ("GET", PUBLIC): [*both, asked],
        ("GET", f"{PUBLIC}/config"): [{}, asked],
        ("GET", f"{API}/campaigns"): [{}, {"params": {"limit": "1"}}],
        ("POST", f"{API}/campaigns"): [{"json": DRAFT}, {"json": {}}],
        ("GET", OWN): [*both, asked],
        ("PATCH", OWN): [
            {"json": {"max_participants": most}, "headers": {"If-Match": f'"{version}"'}}
            for version, most in ((1, 9), (past.version, 1), (past.version + 1, None))
        ],
        ("POST", f"{OWN}/open"): both,
        **{("GET", f"{OWN}/{one}"): both for one in ("readiness", "preview")},
        ("POST", f"{OWN}/copy"): both,
        ("POST", f"{OWN}/tasks"): [CSV, {**CSV, **both[1]}],
        ("POST", f"{OWN}/tasks/reading"): [CSV, {**CSV, **both[1]}],
        ("GET", f"{OWN}/tasks"): [*both, {"params": {"limit": "1"}}],
        ("DELETE", f"{OWN}/tasks"): both,
        ("PUT", f"{OWN}/images/{{sha256}}"): [{**one, "content": PNG} for one in both],
        ("POST", f"{OWN}/images"): [{**one, "content": PNG} for one in both],
        ("GET", f"{OWN}/images/{{sha256}}"): [*both, {"named": {"sha256": "0" * 64}}],
        ("POST", f"{OWN}/invites"): [{"json": {"count": 2}}],
        ("GET", f"{OWN}/invites"): both,
        ("DELETE", f"{OWN}/invites"): [{}],
        ("POST", f"{OWN}/invites/revoke"): [
            {"json": {"invite": one or UNKNOWN}}
            for one in (UNKNOWN, past.unused, past.late.invite, "x")
        ],
        ("POST", f"{OWN}/invites/replace"): [
            {"json": {"invite": one or UNKNOWN}} for one in (UNKNOWN, past.late.invite, "x")
        ],
        ("GET", f"{OWN}/funnel"): both,
        ("GET", f"{OWN}/excluded"): [{}],
        ("PUT", f"{OWN}/excluded/{{worker}}"): workers,
        ("DELETE", f"{OWN}/excluded/{{worker}}"): workers,
        ("DELETE", f"{OWN}/workers/{{worker}}"): workers,
        **{
            ("GET", f"{OWN}/results{one}"): [{}, asked, {"params": {"cursor": "AAAA"}}]
            for one in ("", "/head", "/truths", "/workers")
        },
        ("GET", f"{OWN}/rounds"): both,
        ("GET", f"{OWN}/series"): [{}, {"params": {"task": "t0"}}, {"params": {"task": "x"}}],
        ("GET", f"{OWN}/estimates"): [*both, asked, {"params": {"cursor": "AAAA"}}],
        ("POST", f"{OWN}/inferences"): both,
        ("GET", f"{OWN}/reports"): [
            {"params": {"format": one}} for one in ("jsonl", "csv", "arrow", "mechanism", "x")
        ],
        ("GET", f"{OWN}/truths"): [
            *({"params": {"format": one}} for one in ("jsonl", "csv", "label-studio", "x")),
            {"params": {"format": "csv", "questions": "true"}},
        ],
        ("GET", f"{OWN}/shares"): both,
        ("POST", f"{OWN}/dashboard-codes"): [{}],
        ("POST", f"{OWN}/dashboard-tokens"): [
            {"headers": {"Authorization": f"Bearer {one}"}} for one in (me.code, UNKNOWN)
        ],
        ("DELETE", f"{API}/keys/{{key}}"): [{}],
        ("GET", f"{API}/plans"): [{}],
        ("GET", f"{API}/server"): [{}],
        ("POST", f"{API}/plans"): [{"json": {"tasks": 1}}],
        ("POST", f"{OWN}/close"): [{}, {}],
        ("DELETE", OWN): [{}],
        **{("GET", one): [{}, {"params": {"a": "1"}}] if me.thorough else [] for one in PAGES},
        ("GET", "/j/{campaign}"): [*both, {"named": {"campaign": ABSENT}}],
    }


PAGES = (
    *("/", "/dashboard", "/dashboard/", "/dashboard/{campaign}"),
    "/dashboard/preview/j/{campaign}",
    *("/j/service_worker.js", "/worker/manifest.json", "/worker/saved.html", "/worker/{path}"),
    "/web/studio/{name}",
)


def places(past: Past, me: Observer) -> dict[str, str]:
    """Return what usually stands in paths."""
    return {
        "campaign": past.campaign,
        "participant": me.person.id,
        "sha256": hash_of(PNG),
        "worker": past.names[2],
        "key": past.spare_key,
        "name": "main.js",
        "path": "page/main.js",
    }
