"""What a mechanism guarantees, how guarantees add up, and how they are put to the test."""

from quietcrowd.privacy.audit import audit
from quietcrowd.privacy.audit_report import AuditReport
from quietcrowd.privacy.guarantee import PrivacyGuarantee

__all__ = ["AuditReport", "PrivacyGuarantee", "audit"]
