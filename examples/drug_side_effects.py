"""Drug side effects: each patient knows a few drugs, and which ones is private, too.

Every phone reports every drug. A patient who does not know a drug sends NULL through the same
randomised response, so that nobody learns who took what. All patients here are simulated.
"""

import quietcrowd as qc
from quietcrowd.exceptions import SimulatedNoiseWarning
from quietcrowd.inference import ignores_noise

PATIENTS, DRUGS, EPSILON = 1_000, 40, 3.0


def main() -> None:
    """Simulate the crowd, randomise its answers, and print what is found."""
    patients = qc.make_crowd(
        tasks=DRUGS,
        workers=PATIENTS,
        answers_per_task=150,  # a patient knows 6 of 40 drugs
        labels=("no headache", "headache"),
        accuracy=(0.6, 0.9),
        random_state=1,
    )
    device = qc.RandomizedResponse(
        domain=patients.answers.domain, epsilon=EPSILON, missing="category"
    )
    print(f"{PATIENTS} simulated patients, {DRUGS} drugs, epsilon {EPSILON:g} per drug")
    print(device.guarantee(tasks=DRUGS), "\n")

    # Real phones draw without rng; with a seed the simulation is the same each time.
    reports = device.simulate(patients.answers, random_state=0)
    print(f"{len(patients.answers)} answers became {len(reports)} reports, NULL included")
    print("Wrong side effects:")
    with ignores_noise():
        plain = qc.error_rate(qc.MajorityVote().fit(patients.answers), patients.truths)
        vote = qc.error_rate(qc.MajorityVote().fit(reports), patients.truths)
        aware = qc.error_rate(qc.NoiseAware().fit(reports), patients.truths)
    print(f"  vote on the private answers themselves  {plain:.1%}")
    print(f"  vote on the reports                     {vote:.1%}")
    print(f"  noise-aware on the reports              {aware:.1%}")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore", SimulatedNoiseWarning)  # simulated on purpose
    main()
