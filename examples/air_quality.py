"""Air quality by phones: one campaign of 30 days, with a limit for any week and for all days.

Every phone answers one day in seven, and adds noise to each reading. The air of a day resembles
that of the day before, so each day's truths learn from the days before. All phones are simulated.
"""

import numpy as np
import pandas as pd

import quietcrowd as qc
from quietcrowd.exceptions import SimulatedNoiseWarning

DAYS, WEEK, PLACES, PHONES, READINGS, EPSILON = 30, 7, 30, 1_000, 5, 1.0
INDEX = qc.Interval(low=0, high=10)


def simulate_days():
    """Yield the air of each day, the reports, and the estimates without and with earlier days."""
    rng = np.random.default_rng(1)
    steps = rng.normal(0, 0.5, (DAYS, PLACES)).cumsum(axis=0)
    air = (rng.uniform(2, 8, PLACES) + steps).clip(INDEX.low, INDEX.high)
    slots, homes = rng.integers(WEEK, size=PHONES), rng.integers(PLACES, size=PHONES)
    mechanism = qc.PiecewiseMechanism(domain=INDEX, epsilon=EPSILON)
    method, followed = qc.NoiseAware(over_time="follow"), None
    for day in range(DAYS):
        phones = np.flatnonzero(slots == day % WEEK).repeat(READINGS)
        places = (homes[phones] + np.arange(len(phones)) % READINGS) % PLACES
        read = (air[day, places] + rng.normal(0, 0.7, len(phones))).clip(INDEX.low, INDEX.high)
        answers = pd.DataFrame({"task": places, "worker": phones, "label": read})
        reports = mechanism.simulate(qc.Answers.from_frame(answers, domain=INDEX), random_state=day)
        alone = method.fit(reports, round=day)
        followed = alone if followed is None else method.extend(followed, reports, round=day)
        yield pd.Series(air[day]), reports, alone, followed


def main() -> None:
    """Simulate the days, and print errors and the losses of one phone."""
    print(f"{PHONES:,} simulated phones, each near {READINGS} of {PLACES} places, 1 day in 7;")
    print(f"epsilon {EPSILON:g} a reading. Errors of noise-aware truths, which are from 0 to 10:")
    print("\nday   from that day   with the days before")
    sent = []
    for day, (air, reports, *estimates) in enumerate(simulate_days()):
        sent.append(reports)
        if day % 7 == 1:
            errors = [qc.mean_absolute_error(one, air) for one in estimates]
            print(f"{day + 1:3} {errors[0]:12.2f} {errors[1]:18.2f}")

    ledger = qc.PrivacyLedger.of_reports(*sent, campaigns=[f"air#{day}" for day in range(DAYS)])
    phone = sent[-1].to_frame()["worker"].iloc[0]
    losses = [ledger.window(phone, "air", days).total_epsilon for days in (WEEK, DAYS)]
    print("\nWhat one phone has lost, by the ledger:")
    print(f"epsilon {losses[0]:.2f} in any {WEEK} days, {losses[1]:.2f} in all {DAYS} days")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore", SimulatedNoiseWarning)  # simulated on purpose
    main()
