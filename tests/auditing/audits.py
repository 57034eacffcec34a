"""Audits of mechanisms that are right, which chance convicts now and then."""

from quietcrowd.auditing import audit


def audited(mechanism, n, **options):
    """Return an audit, and where it convicts another one.

    One audit convicts a mechanism that is right with a chance of 10^-3 at most, both one of 10^-6.
    """
    report = audit(mechanism, n, **options)
    return report if report.holds else audit(mechanism, n, **options)
