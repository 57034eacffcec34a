"""A clock that tests set, for campaigns in rounds of a day each."""

from attrs import define

HOUR, DAY = 3_600, 86_400
FIRST = 1_796_083_200  # 2026-12-01, in seconds since 1970
ROUNDS = {"first": "2026-12-01T00:00:00Z", "length": DAY, "count": 6, "grace": HOUR, "keep": 2}


@define
class Clock:
    """Seconds since 1970, on the day before the first round to begin with."""

    now: float = FIRST - DAY

    def __call__(self) -> float:
        return self.now

    def to(self, number: int, seconds: float = HOUR + 1) -> None:
        """Go to a time in a round, by default when the one before has just ended for good."""
        self.now = FIRST + number * DAY + seconds
