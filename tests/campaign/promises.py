"""What the campaigns of the tests promise workers, unless a test says otherwise."""

PROMISES = {
    "requester": "The bird group",
    "contact": "birds@example.org",
    "purpose": "A map of birds.",
    "retention_days": 30,
    "at_least": 1,
}
"""Reports are shown as soon as they are sent: most tests send from one or two workers, and look."""

WORDS = (
    "--requester", PROMISES["requester"],
    "--contact", PROMISES["contact"],
    "--purpose", PROMISES["purpose"],
    "--retention-days", PROMISES["retention_days"],
    "--min-batch", PROMISES["at_least"],
)  # fmt: skip
"""The same as options of `quietcrowd campaign create`."""
