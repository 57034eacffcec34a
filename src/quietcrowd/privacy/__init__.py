"""What a channel loses: guarantees, laws of the loss, compositions. No samples, no mechanism."""

from quietcrowd.privacy.guarantee import PrivacyGuarantee

__all__ = ["PrivacyGuarantee"]
