"""Random losses against a model: no withdrawn worker is back, and good copies lose nothing."""

import random
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress

import pytest
from sqlalchemy import insert, select
from tests.nightly import by_day

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.clock import DAY, read_clock
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.generations import generations_in, make_generation, prune
from quietcrowd.campaign.store.opening import accept_loss, ready_database
from quietcrowd.campaign.store.participants import erase_participant
from quietcrowd.campaign.store.restore import restore
from quietcrowd.campaign.store.withdrawals.journal import Departures
from quietcrowd.exceptions import ParameterError

STEPS = 25
START = 20_800
RETENTION = 60
OPEN, CLOSED = b"open", b"closed"


class World:
    """A server's files, and what has to be true of them."""

    def __init__(self, root, seed):
        self.random = random.Random(seed)
        self.here, self.copies = root / "here", root / "copies"
        for folder in (self.here, self.copies):
            folder.mkdir()
        self.journal = self.here / "q.db.departures"
        self.settings = Settings(database=f"sqlite:///{self.here}/q.db")
        self.day, self.jump, self.joins = START, 0, 0
        self.expected, self.withdrawn, self.may_return = set(), set(), set()
        self.copied, self.departed, self.live = {}, {}, set()
        self.intact = True
        with self.served() as (database, _):
            self.fill(database)

    def now(self):
        return (self.day + self.jump) * DAY + 1.0 + self.random.random() * (DAY - 2)

    def fill(self, database):
        with database.write() as connection:
            connection.execute(insert(tables.requester), {"id": b"r", "name": "birds"})
            words = ("title", "description", "mechanism")
            row = dict.fromkeys(words, "-") | {"requester_id": b"r", "join_mode": "open"}
            row |= dict.fromkeys(("version", "erasures", "invites_used"), 0)
            end = {"delete_at": (START + RETENTION) * DAY, "retention_days": RETENTION}
            for one, more in (
                (OPEN, {"state": "open", "delete_at": None, "retention_days": None}),
                (CLOSED, {"state": "closed", **end}),
            ):
                connection.execute(insert(tables.campaign), {"id": one, **row, **more})
            self.insert(connection, CLOSED, b"kept")

    def insert(self, connection, campaign, worker):
        person = {"id": worker, "pseudonym": worker.hex(), "campaign_id": campaign}
        person |= {"token_sha256": worker, "consent_hash": b""}
        connection.execute(insert(tables.participant), person)

    @contextmanager
    def served(self):
        """Start a server, and give its database and journal."""
        with (
            ready_database(self.settings, clock=self.now) as database,
            closing(Departures.open(self.settings)) as departures,
        ):
            yield database, departures

    def join(self):
        self.joins += 1
        worker = b"worker %d" % self.joins
        with self.served() as (database, _), database.write() as connection:
            self.insert(connection, OPEN, worker)
        self.expected.add(worker)

    def withdraw(self):
        with self.served() as (database, departures), database.write() as connection:
            person = tables.participant.c
            found = connection.execute(
                select(tables.participant).where(person.campaign_id == OPEN).order_by(person.id)
            ).all()
            if not found:
                return
            leaver = self.random.choice(found)
            departures.leave(OPEN, leaver.id, b"kept" + leaver.id)
            erase_participant(connection, leaver, b"kept" + leaver.id)
        self.expected.discard(leaver.id)
        self.may_return.discard(leaver.id)
        self.withdrawn.add(leaver.id)
        self.live.add(leaver.id)

    def may_be_refused(self):
        """Return what lets refusals through once a journal was lost, and none before."""
        return nullcontext() if self.intact else suppress(ParameterError)

    def backup(self):
        """Back up as the command does; an operator may insist."""
        self.day += 1
        with closing(Database.open(self.settings.database)) as database, ExitStack() as held:
            journal = None
            if self.journal.exists():
                journal = held.enter_context(closing(Database.open(f"sqlite:///{self.journal}")))
            if not database.path.exists():
                return
            clock, made = read_clock(self.now(), database, journal), None
            with self.may_be_refused():
                made = make_generation(database, journal, self.copies, clock)
            if made is None and self.random.random() < 0.5:
                self.override()
                made = make_generation(database, journal, self.copies, clock, lost=True)
            if made is None:
                return
            gone = prune(database, self.copies, 5, clock)
        assert not (self.jump and gone)
        self.copied[made.place.name] = set(self.expected)
        self.departed[made.place.name] = set(self.live)

    def lose_database(self):
        if self.good():
            for name in ("q.db", "q.db-wal", "q.db-shm"):
                (self.here / name).unlink(missing_ok=True)
            if self.journal.exists() and self.random.random() < 0.5:
                (self.here / "q.db.started").unlink(missing_ok=True)

    def lose_journal(self):
        if (self.here / "q.db").exists() or (self.here / "q.db.started").exists():
            for file in self.here.glob("q.db.departures*"):
                file.unlink()
            self.intact, self.live = False, set()

    def damage(self):
        """Change a byte of a copy, but never of the last good one."""
        good = self.good()
        if len(good) > 1:
            found = self.random.choice(good)
            file = self.random.choice([found.database, found.journal or found.database])
            content = bytearray(file.read_bytes())
            content[self.random.randrange(len(content))] ^= 1
            file.write_bytes(content)
            with pytest.raises(ParameterError, match="damaged"):
                restore(found.place, self.settings, self.now())

    def good(self):
        return [one for one in generations_in(self.copies, "q.db") if one.damaged_file() is None]

    def restore(self):
        good = self.good()
        if not good:
            return
        found = self.random.choice(good)
        self.day += 1
        done = False
        with self.may_be_refused():
            restore(found.place, self.settings, self.now())
            done = True
        if not done:
            self.override()
            restore(found.place, self.settings, self.now(), lost=True)
        self.live |= self.copied_journals()
        self.expected = self.copied[found.place.name] - self.withdrawn

    def accept(self):
        """Say that the journal is lost, where it is."""
        if not self.intact and (self.here / "q.db").exists():
            self.override()
            accept_loss(self.settings)

    def copied_journals(self):
        """Return who is in a copy of the journal."""
        return set().union(*(self.departed[one.place.name] for one in self.good()))

    def override(self):
        """Note who may come back: who is in no journal and no copy of one."""
        self.may_return |= self.withdrawn - self.copied_journals() - self.live

    def jump_clock(self):
        self.jump = self.random.choice([0, 0, 0, 200, -200])

    def pass_day(self):
        self.day += self.random.randint(0, 2)

    def check(self):
        """Start a server, and compare; a missing database is refused."""
        if not (self.here / "q.db").exists():
            with pytest.raises(ParameterError, match="has used it before"), self.served():
                pass
            return
        rows = None
        with self.may_be_refused(), self.served() as (database, _), database.read() as connection:
            rows = connection.execute(select(tables.participant)).all()
        if rows is None:
            return
        present = {row.id for row in rows if row.campaign_id == OPEN}
        assert not present & (self.withdrawn - self.may_return)
        assert self.expected <= present
        assert self.day >= START + RETENTION or b"kept" in {row.id for row in rows}
        assert self.good() or not self.copied

    def play(self, steps):
        for act in (*[self.join] * 4, self.backup, self.withdraw, self.backup, self.withdraw):
            act()
        acts = [self.withdraw, self.restore, self.backup] * 3 + [self.join, self.jump_clock] * 2
        acts += [self.lose_database, self.lose_journal, self.accept, self.damage, self.pass_day]
        for _ in range(steps):
            act = self.random.choice(acts)
            if act in (self.join, self.withdraw) and not (self.here / "q.db").exists():
                act = self.restore
            with self.may_be_refused() if act in (self.join, self.withdraw) else nullcontext():
                act()
            self.check()


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("seed", by_day((0, 3, 7), range(33)))
def test_withdrawn_workers_stay_away_and_good_copies_lose_nothing(tmp_path, seed):
    World(tmp_path, seed).play(STEPS)
