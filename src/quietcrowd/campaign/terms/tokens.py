"""Keys, credentials and invites: 32 random bytes each; what is stored of them is a hash."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from typing import Literal, TypeAlias

__all__ = [
    "PSEUDONYM",
    "Prefix",
    "erased_hash",
    "has_prefix",
    "hide_tokens",
    "new_id",
    "new_pseudonym",
    "new_token",
    "participant_id",
    "same_hash",
    "token_hash",
    "withdrawn_hash",
]

Prefix: TypeAlias = Literal["qck_", "qcw_", "qci_"]
"""Of a requester's key, a worker's credential, an invite: a leak of one can be searched for."""

PSEUDONYM = r"^worker-[0-9a-f]{16}$"
"""What pseudonyms look like."""

_TOKEN = re.compile(r"qc[kwi]_[A-Za-z0-9_-]{43}", re.ASCII)
_TOKEN_LIKE = re.compile(r"(qc[kwi]_)[A-Za-z0-9_-]+", re.ASCII)


def new_token(prefix: Prefix) -> str:
    """Return 32 random bytes in base64url, after a prefix that says what they are for."""
    return prefix + base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")


def has_prefix(token: str, prefix: Prefix) -> bool:
    """Return whether a text has the form of a token of this kind."""
    return token.startswith(prefix) and _TOKEN.fullmatch(token) is not None


def hide_tokens(text: str) -> str:
    """Return a text in which nobody can read a token; for messages."""
    return _TOKEN_LIKE.sub(r"\1...", text)


def token_hash(token: str) -> bytes:
    """Return what is stored of a token: its SHA-256. 32 random bytes need no slower hash."""
    return hashlib.sha256(token.encode()).digest()


def withdrawn_hash(credential: str) -> bytes:
    """Return what is kept of the credential of who withdrew: no hash that was stored before."""
    return hashlib.sha256(f"withdrawn {credential}".encode()).digest()


def erased_hash(hashed: bytes) -> bytes:
    """Return what is kept of a credential whose `token_hash` is known and which is not."""
    return hashlib.sha256(b"erased " + hashed).digest()


def same_hash(one: bytes, other: bytes) -> bool:
    """Return whether two hashes are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one, other)


def participant_id(credential: str) -> bytes:
    """Return who a credential stands for: the first 16 bytes of its SHA-256.

    The worker's device draws the credential, so that joining twice is joining once.
    """
    return token_hash(credential)[:16]


def new_id() -> bytes:
    """Return 16 random bytes: an id that tells nothing of when it was made."""
    return secrets.token_bytes(16)


def new_pseudonym() -> str:
    """Return the name under which a requester sees a worker of one campaign."""
    return f"worker-{secrets.token_hex(8)}"
