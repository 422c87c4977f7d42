"""A certificate authority for one run."""

import datetime
import os
import ssl
from functools import lru_cache
from threading import Lock

from skillkit.core.extras import pip_install
from skillkit.scripts.exceptions import RefusedRunError

_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)
_FILE = "/etc/skillkit-authorities.pem"
_VARIABLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
)
_ANCIENT, _SOON = datetime.timedelta(days=1), datetime.timedelta(days=2)


class RunAuthority:
    """Signs for the hosts that a secret goes to; its key never leaves this process."""

    def __init__(self) -> None:
        try:
            import h11  # noqa: F401 -- what speaks HTTP where TLS is ended
            from cryptography.hazmat.primitives.asymmetric import ec
        except ImportError as error:
            message = f"Secrets need the packages cryptography and h11: {pip_install('secrets')}"
            raise RefusedRunError(message) from error
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._lock = Lock()
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._certificate = self._sign("skillkit", self._key.public_key(), is_authority=True)

    @property
    def files(self) -> dict[str, bytes]:
        """Bundle for the sandbox: this machine's authorities and this one."""
        own = self._pem(self._certificate)
        shown = {path: content + own for path in _BUNDLES if (content := _read(path))}
        return shown or {_FILE: own}

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables for programs that bring their own authorities."""
        return dict.fromkeys(_VARIABLES, next(filter(_read, _BUNDLES), _FILE))

    def context_for(self, name: str) -> ssl.SSLContext:
        """Return the TLS context of a server called `name`."""
        with self._lock:
            if name not in self._contexts:
                self._contexts[name] = self._new_context(name)
            return self._contexts[name]

    def _new_context(self, name: str) -> ssl.SSLContext:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        chain = self._pem(self._sign(name, key.public_key(), is_authority=False))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        descriptor = os.memfd_create("skillkit")  # the library takes a file only, and this one has no name
        try:
            os.write(descriptor, private + chain)
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
        return context

    def _sign(self, name: str, public: object, *, is_authority: bool) -> object:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.x509.oid import NameOID

        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "skillkit")])
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder(issuer, subject, public, x509.random_serial_number())  # type: ignore[arg-type]
            .not_valid_before(now - _ANCIENT)
            .not_valid_after(now + _SOON)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(
                x509.KeyUsage(  # Python 3.13 refuses an authority without it
                    digital_signature=not is_authority,
                    key_cert_sign=is_authority,
                    crl_sign=is_authority,
                    content_commitment=False,
                    key_encipherment=False,
                    data_encipherment=False,
                    key_agreement=False,
                    encipher_only=False,
                    decipher_only=False,
                ),
                critical=True,
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)  # type: ignore[arg-type]
        )
        if not is_authority:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def _pem(self, certificate: object) -> bytes:
        from cryptography.hazmat.primitives import serialization

        encoded: bytes = certificate.public_bytes(serialization.Encoding.PEM)  # type: ignore[attr-defined]
        return encoded


def _read(path: str) -> bytes:
    try:
        found = os.stat(path)
        return _content(path, (found.st_mtime_ns, found.st_size, found.st_ino))
    except OSError:
        return b""


@lru_cache(maxsize=len(_BUNDLES))
def _content(path: str, stamp: object) -> bytes:
    """A bundle of this machine, read again when it changes: every run with a secret shows it."""
    with open(path, "rb") as file:
        return file.read()
