"""The worker page for a requester's preview: one file without a device, for a sandboxed frame."""

from quietcrowd.campaign.web.files import PREVIEW, WORKER, html_file, policy_hash
from quietcrowd.campaign.web.worker_page import STYLE_TEXT, joined_modules, one_file

_SCRIPT = joined_modules(modules={**WORKER, "device/device.js": PREVIEW["device.js"]})

PREVIEW_PAGE = html_file(one_file(_SCRIPT))
PREVIEW_POLICY = "; ".join(
    (
        "default-src 'none'",
        f"script-src {policy_hash(_SCRIPT)}",
        f"style-src {policy_hash(STYLE_TEXT)}",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
        "sandbox allow-scripts",
    )
)
"""The page, and its header ``Content-Security-Policy``: it can request nothing."""
