"""What has no public path: the only module here to change where the library is rearranged."""

from quietcrowd.campaign.terms.configuration import build_configuration

__all__ = ["build_configuration"]
