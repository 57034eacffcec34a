"""Keys, credentials, invites, codes and tokens: 32 random bytes each, stored as hashes."""

import base64
import hashlib
import hmac
import re
import secrets
from typing import Literal, TypeAlias

Prefix: TypeAlias = Literal["qck_", "qcw_", "qci_", "qcd_", "qcr_"]
"""Prefix of a requester's key, a worker's credential, an invite, a dashboard code, and a token to
read results. Prefixes make leaked secrets searchable."""

_NAME = "worker-[0-9a-f]{16}"
PSEUDONYM = rf"^{_NAME}$"
_LETTERS, _COUNT = "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 16  # without I, L, O and U
CODE = rf"^[{_LETTERS}]{{{_COUNT}}}$"
_TOKEN = re.compile(r"qc[kwidr]_[A-Za-z0-9_-]{43}", re.ASCII)
_TOKEN_LIKE = re.compile(r"(qc[kwidr]_)[A-Za-z0-9_-]+", re.ASCII)
_LISTED = re.compile(rf" \({_NAME}[^()]*\)")


def new_token(prefix: Prefix) -> str:
    """Return 32 random bytes in base64url after a prefix."""
    return prefix + base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")


def has_prefix(token: str, prefix: Prefix) -> bool:
    """Return whether a text has the form of a token of this kind."""
    return token.startswith(prefix) and _TOKEN.fullmatch(token) is not None


def hide_tokens(text: str) -> str:
    """Mask tokens in a message."""
    return _TOKEN_LIKE.sub(r"\1...", text)


def hide_pseudonyms(text: str) -> str:
    """Replace pseudonyms in a message with "a worker", and drop parenthesized lists of them."""
    return re.sub(_NAME, "a worker", _LISTED.sub("", text))


def token_hash(token: str) -> bytes:
    """Return the SHA-256 of a token, as stored; 32 random bytes need no slower hash."""
    return hashlib.sha256(token.encode()).digest()


def new_code() -> str:
    """Return 80 random bits in base 32, with which a worker goes on in another browser."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_COUNT))


def read_code(typed: str) -> str | None:
    """Return a code as it is sent; None if it has another form."""
    code = typed.upper().translate(str.maketrans("OIL", "011", "- \t\r\n"))
    return code if re.fullmatch(CODE, code, re.ASCII) else None


def code_hash(invite: bytes, code: str) -> bytes:
    """Return the stored hash of a code, which only someone with the invite's hash can test."""
    return hashlib.sha256(b"code " + invite + code.encode()).digest()


def withdrawn_hash(credential: str) -> bytes:
    """Return the hash of a withdrawn credential, which differs from any stored before."""
    return hashlib.sha256(f"withdrawn {credential}".encode()).digest()


def erased_hash(hashed: bytes) -> bytes:
    """Return the hash stored for an erased credential of which only the `token_hash` is known."""
    return hashlib.sha256(b"erased " + hashed).digest()


def same_hash(one: bytes, other: bytes) -> bool:
    """Compare hashes in constant time."""
    return hmac.compare_digest(one, other)


def participant_id(credential: str) -> bytes:
    """Return the worker's id, the first 16 bytes of the credential's SHA-256."""
    return token_hash(credential)[:16]


def key_id(key_hash: bytes) -> bytes:
    """Return the id of a key, the first 16 bytes of its hash."""
    return key_hash[:16]


def new_id() -> bytes:
    """Return 16 random bytes, which do not reveal the time of creation."""
    return secrets.token_bytes(16)


def new_pseudonym() -> str:
    """Return a random name by which a requester sees a worker of one campaign."""
    return f"worker-{secrets.token_hex(8)}"
