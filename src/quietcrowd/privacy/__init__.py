"""What a channel loses: guarantees, laws of the loss, tails. No samples, and no mechanism."""

from quietcrowd.privacy.guarantee import PrivacyGuarantee

__all__ = ["PrivacyGuarantee"]
