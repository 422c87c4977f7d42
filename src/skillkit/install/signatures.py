"""skill.oms.sig: who signed a skill, in the format of OpenSSF Model Signing, verified for exact bytes.

The file is a Sigstore bundle: an in-toto statement with the digest of every file, signed by the first of a
chain of certificates. A policy decides whom to trust, by the fingerprint of a certificate in the chain.
"""

import base64
import binascii
import hashlib
import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from skillkit.core.digest import FileDigest, TreeDigest
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.extras import pip_install
from skillkit.core.foreign_json import parse_json
from skillkit.core.path_resolver import open_beneath

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

SIGNATURE_FILE = "skill.oms.sig"
_MAX_SIZE = 4 << 20
_MAX_CHAIN = 8
_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://model_signing/signature/v1.0"
_UNREAD = (".gitattributes", ".gitignore")
_KEPT = 1024


class SignatureError(SkillsUseError, code="signature"):
    """A signature is invalid; the message says why."""


@dataclass(frozen=True, slots=True)
class Signer:
    """A certificate in the chain of a valid signature."""

    name: str
    fingerprint: str
    """`sha256:…` of the certificate."""


def can_verify() -> bool:
    """Return whether the library that verifies is installed."""
    return find_spec("cryptography") is not None


def describe_signers(files: Mapping[str, FileDigest], bundle: bytes) -> tuple[str, ...]:
    """Describe the certificate chain of the signature of `files`, or why it is invalid."""
    if not can_verify():
        return (f"not verified; to verify it: {pip_install('secrets')}",)
    try:
        return tuple(f"{each.name} ({each.fingerprint})" for each in verify(bundle, files))
    except SignatureError as error:
        return (f"invalid: {error}",)


class SignerMemo:
    """The signers of trees, each verified once for a digest."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[Signer, ...] | SignatureError] = OrderedDict()
        self._lock = Lock()

    def signers(self, folder: Path, tree: TreeDigest) -> tuple[Signer, ...]:
        """Return the signers of `tree`, the signing certificate first; empty without a signature.

        Raises SignatureError if the signature is not valid for exactly these files.
        """
        if SIGNATURE_FILE not in tree.files:
            return ()
        with self._lock:
            known = self._known.get(tree.digest)
        if known is None:
            try:
                known = verify(_read(folder), tree.files)
            except SignatureError as error:
                known = error
            with self._lock:
                self._known[tree.digest] = known
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        if isinstance(known, SignatureError):
            raise known.with_traceback(None)
        return known


skill_signers = SignerMemo()


def _read(folder: Path) -> bytes:
    try:
        with open_beneath(folder, SIGNATURE_FILE) as descriptor:
            return os.pread(descriptor, _MAX_SIZE + 1, 0)
    except OSError as error:
        raise SignatureError(f"{SIGNATURE_FILE} cannot be read: {error.strerror}") from error


def verify(bundle: bytes, files: Mapping[str, FileDigest]) -> tuple[Signer, ...]:
    """Return the certificate chain of a signature over exactly `files`. Raises SignatureError."""
    if len(bundle) > _MAX_SIZE or hashlib.sha256(bundle).hexdigest() != files[SIGNATURE_FILE].sha256:
        raise SignatureError(f"{SIGNATURE_FILE} is too large, or changed while it was read")
    try:
        data = parse_json(bundle)
        envelope = data["dsseEnvelope"]
        payload = base64.b64decode(envelope["payload"], validate=True)
        (signature,) = (base64.b64decode(each["sig"], validate=True) for each in envelope["signatures"])
        kind = envelope["payloadType"].encode()
        chain = _chain(data["verificationMaterial"])
        statement = parse_json(payload)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error) as error:
        raise SignatureError(f"{SIGNATURE_FILE} is not a valid signature bundle") from error
    _check_signature(chain[0], signature, b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload))
    _check_statement(statement, files)
    return tuple(_signer(certificate) for certificate in chain)


def _chain(material: Any) -> list["Certificate"]:
    """Return the certificates after checking that each is signed by the next and valid now."""
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature

    listed = material.get("x509CertificateChain", {}).get("certificates") or [material["certificate"]]
    if not 0 < len(listed) <= _MAX_CHAIN:
        raise ValueError("invalid certificate chain")
    chain = [x509.load_der_x509_certificate(base64.b64decode(each["rawBytes"])) for each in listed]
    now = datetime.now(UTC)
    for certificate, issuer in zip(chain, [*chain[1:], None], strict=True):
        if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
            raise SignatureError("A certificate in the signature is expired or not yet valid")
        if issuer is None:
            continue
        try:
            certificate.verify_directly_issued_by(issuer)
            constraints = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
        except (InvalidSignature, TypeError, ValueError, x509.ExtensionNotFound) as error:
            raise SignatureError("A certificate in the signature was not issued by the next one") from error
        if not constraints.ca:
            raise SignatureError("The issuer of a certificate in the signature is not a CA")
    return chain


def _check_signature(certificate: "Certificate", signature: bytes, message: bytes) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

    key = certificate.public_key()
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            sizes = {256: hashes.SHA256(), 384: hashes.SHA384(), 521: hashes.SHA512()}
            key.verify(signature, message, ec.ECDSA(sizes[key.curve.key_size]))
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, message, padding.PKCS1v15(), hashes.SHA256())
        elif isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, message)
        else:
            raise SignatureError("Unsupported key type in the signature")
    except (InvalidSignature, KeyError) as error:
        raise SignatureError("The signature is invalid") from error


def _check_statement(statement: Any, files: Mapping[str, FileDigest]) -> None:
    try:
        if (statement["_type"], statement["predicateType"]) != (_STATEMENT, _PREDICATE):
            raise SignatureError("The signed statement is not a list of files")
        resources = statement["predicate"]["resources"]
        signed = {each["name"]: (each["algorithm"], each["digest"]) for each in resources}
    except (KeyError, TypeError) as error:
        raise SignatureError("The signed statement is not a list of files") from error
    there = {path: ("sha256", each.sha256) for path, each in files.items() if path != SIGNATURE_FILE}
    for path in _UNREAD:  # as the format leaves them out
        if path not in signed:
            there.pop(path, None)
    if len(signed) != len(resources) or signed != there:
        changed = sorted(path for path in {*signed, *there} if signed.get(path) != there.get(path))
        raise SignatureError(
            f"Files differ from the signature: {', '.join(changed[:5]) or 'duplicate entry'}"
        )


def _signer(certificate: "Certificate") -> Signer:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509.oid import NameOID

    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    name = str(names[0].value) if names else certificate.subject.rfc4514_string()
    return Signer(name[:200], f"sha256:{certificate.fingerprint(SHA256()).hex()}")
