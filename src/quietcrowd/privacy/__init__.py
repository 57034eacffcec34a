"""Privacy guarantees, privacy loss distributions and tail bounds."""

from quietcrowd.privacy.guarantee import PrivacyGuarantee

__all__ = ["PrivacyGuarantee"]
