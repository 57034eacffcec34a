"""What a mechanism guarantees, and how guarantees add up."""

from quietcrowd.privacy.guarantee import PrivacyGuarantee

__all__ = ["PrivacyGuarantee"]
