"""Audits of privacy guarantees by attacks on real reports."""

from quietcrowd.auditing.audits import audit, audit_each
from quietcrowd.auditing.report import AuditReport

__all__ = ["AuditReport", "audit", "audit_each"]
