"""What a mechanism guarantees, how guarantees add up, who has spent how much, and audits."""

from quietcrowd.privacy.accountant import PrivacyLedger
from quietcrowd.privacy.audit import audit
from quietcrowd.privacy.audit_report import AuditReport
from quietcrowd.privacy.guarantee import PrivacyGuarantee

__all__ = ["AuditReport", "PrivacyGuarantee", "PrivacyLedger", "audit"]
