import pytest
from attrs import define
from starlette.requests import HTTPConnection

from quietcrowd.campaign.server.connection_limits import OpenConnections
from quietcrowd.campaign.server.join_limits import Sources
from quietcrowd.campaign.server.rate_limits import RateLimits

ONE, OTHER, HERE = "192.0.2.1", "192.0.2.2", "127.0.0.1"


@define(eq=False)
class Fake:
    ended: bool = False

    def cut_off(self):
        self.ended = True


def limits(most=4, each=2, rate=0.0):
    by_source = RateLimits(rate=rate, burst=1)
    return OpenConnections(most=most, each=each, limits=by_source, sources=Sources())


def entered(open_connections, *addresses):
    made = [Fake() for _ in addresses]
    for connection, address in zip(made, addresses, strict=True):
        open_connections.enter(connection, address)
    return made


def ended(made):
    return [connection.ended for connection in made]


def test_the_one_that_has_waited_longest_ends_first():
    limited = limits()
    made = entered(limited, *[HERE] * 4)
    limited.go_on(made[0])
    limited.wait(made[0])
    assert ended(made) == [False] * 4
    made += entered(limited, HERE)
    assert ended(made) == [False, True, False, False, False]
    assert len(limited) == 4


def test_none_ends_that_is_worked_for():
    limited = limits()
    made = entered(limited, *[HERE] * 4)
    for connection in made[:3]:
        limited.go_on(connection)
    made += entered(limited, HERE, HERE)
    assert ended(made) == [False, False, False, True, True, False]
    limited.go_on(made[-1])
    made += entered(limited, HERE)
    assert ended(made)[-2:] == [False, True]  # all others are worked for


def test_a_source_has_its_share_and_ends_its_own():
    limited = limits()
    made = entered(limited, ONE, OTHER, ONE, ONE)
    assert ended(made) == [True, False, False, False]
    limited.leave(made[2])
    made += entered(limited, ONE)
    assert ended(made) == [True, False, False, False, False]


def test_what_is_left_is_counted_no_more():
    limited = limits()
    made = entered(limited, ONE, ONE, OTHER)
    for connection in [*made, *made]:
        limited.leave(connection)
        limited.wait(connection)
    assert len(limited) == 0
    assert not limited._count
    assert not limited._waiting
    assert not limited._waiting_of


@pytest.mark.parametrize(("address", "allowed"), [(ONE, [True, False]), (HERE, [True, True])])
def test_who_asks_too_often_may_not_come(address, allowed):
    limited = limits(rate=0.001)
    request = HTTPConnection({"type": "http", "client": (address, 1), "headers": []})
    assert limited.may_come(address)
    assert [limited.may_ask(request) for _ in range(2)] == [True, False]
    assert [True, limited.may_come(address)] == allowed
    assert limited.may_come(OTHER)
