"""What a mechanism guarantees, how guarantees add up, and who has spent how much."""

from quietcrowd.privacy.accountant import PrivacyLedger
from quietcrowd.privacy.guarantee import PrivacyGuarantee

__all__ = ["PrivacyGuarantee", "PrivacyLedger"]
