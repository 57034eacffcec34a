"""Audits of privacy guarantees by attacks on real reports."""

from quietcrowd.auditing.audits import audit
from quietcrowd.auditing.report import AuditReport

__all__ = ["AuditReport", "audit"]
