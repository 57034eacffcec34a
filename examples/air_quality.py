"""Air quality by phones: a number per place, one campaign a day, and what a phone spends in all.

A phone adds Laplace noise to each reading. A ledger adds up what its owner has lost over the
days: epsilon adds up over all that is ever sent. All phones here are simulated.
"""

import quietcrowd as qc
from quietcrowd.exceptions import SimulatedNoiseWarning
from quietcrowd.inference import ignores_noise

DAYS, PLACES, PHONES, EPSILON = 3, 30, 400, 2.0


def main() -> None:
    """Simulate some days, and print errors and what a phone has spent."""
    print(
        f"{PHONES} simulated phones, each near 6 of {PLACES} places; epsilon {EPSILON:g} a reading"
    )
    print("\nMean error of a place's air quality index, 0 to 10:")
    print("day   plain mean   mean of reports   noise-aware")
    sent = []
    for day in range(DAYS):
        crowd = qc.make_crowd(
            kind="sensors",
            tasks=PLACES,
            workers=PHONES,
            share=0.2,
            sigmas=(0.3, 2.0),
            random_state=day,
        )
        phone = qc.LaplaceMechanism(domain=crowd.answers.domain, epsilon=EPSILON, fill=None)
        reports = phone.simulate(crowd.answers, random_state=day)
        with ignores_noise():
            found = (
                qc.Mean().fit(crowd.answers),
                qc.Mean().fit(reports),
                qc.NoiseAware().fit(reports),
            )
        errors = [qc.mean_absolute_error(one, crowd.truths) for one in found]
        print(f"{day + 1:3} {errors[0]:12.2f} {errors[1]:17.2f} {errors[2]:13.2f}")
        sent.append(reports)

    ledger = qc.PrivacyLedger.of_reports(*sent, campaigns=[f"day {n + 1}" for n in range(DAYS)])
    spent = ledger.spent(sent[0].to_frame()["worker"].iloc[0])
    print("\nWhat one phone has spent, by the ledger:")
    print(f"epsilon {spent.total_epsilon:g} in all, {spent.answer_epsilon:g} about one place")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore", SimulatedNoiseWarning)  # simulated on purpose
    main()
