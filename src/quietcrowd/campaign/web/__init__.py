"""The pages of the service, for browsers: files of the package, as they are."""

from quietcrowd.campaign.web.pages import router

__all__ = ["router"]
