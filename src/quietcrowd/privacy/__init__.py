"""What a mechanism guarantees, how guarantees add up, who has spent how much, and audits.

Ledgers and audits are imported from their own modules: a worker's device needs neither.
"""

from quietcrowd.privacy.guarantee import PrivacyGuarantee

__all__ = ["PrivacyGuarantee"]
