"""Policies by signer: a signature counts for exactly the bytes that were signed, by a chain that holds."""

import base64
import hashlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from skillkit import SkillManager
from skillkit.core.authority import Requester, TrustEverySkill
from skillkit.core.digest import tree_digest
from skillkit.install.capabilities import capabilities
from skillkit.install.signatures import SIGNATURE_FILE
from skillkit.install.team_policy import TeamAuthority
from skillkit.install.tree import read_folder

x509 = pytest.importorskip("cryptography.x509")
from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa  # noqa: E402

KEYS = {
    "p256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "p384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
    "ed25519": ed25519.Ed25519PrivateKey.generate,
}


class Authority:
    """A certificate and its key."""

    def __init__(self, name, issuer=None, *, ca=True, days=10, key="p256"):
        self.key = KEYS[key]()
        now = datetime.now(UTC)
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        signer = issuer or self
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if issuer is None else issuer.certificate.subject)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=20))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        )
        edwards = isinstance(signer.key, ed25519.Ed25519PrivateKey)
        self.certificate = builder.sign(signer.key, None if edwards else hashes.SHA256())

    @property
    def fingerprint(self):
        return f"sha256:{self.certificate.fingerprint(hashes.SHA256()).hex()}"

    def sign(self, message):
        from cryptography.hazmat.primitives.asymmetric import padding

        if isinstance(self.key, ec.EllipticCurvePrivateKey):
            size = hashes.SHA384() if self.key.curve.key_size == 384 else hashes.SHA256()
            return self.key.sign(message, ec.ECDSA(size))
        if isinstance(self.key, rsa.RSAPrivateKey):
            return self.key.sign(message, padding.PKCS1v15(), hashes.SHA256())
        return self.key.sign(message)

    @property
    def raw(self):
        der = self.certificate.public_bytes(serialization.Encoding.DER)
        return {"rawBytes": base64.b64encode(der).decode()}


def sign(folder: Path, signer: Authority, *chain: Authority, change=lambda statement: None) -> dict:
    resources = [
        {
            "name": str(path.relative_to(folder)),
            "algorithm": "sha256",
            "digest": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != SIGNATURE_FILE
    ]
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [],
        "predicateType": "https://model_signing/signature/v1.0",
        "predicate": {"resources": resources},
    }
    change(statement)
    payload, kind = json.dumps(statement).encode(), "application/vnd.in-toto+json"
    signature = signer.sign(b"DSSEv1 %d %b %d %b" % (len(kind), kind.encode(), len(payload), payload))
    bundle = {
        "verificationMaterial": {
            "x509CertificateChain": {"certificates": [each.raw for each in (signer, *chain)]}
        },
        "dsseEnvelope": {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": kind,
            "signatures": [{"sig": base64.b64encode(signature).decode()}],
        },
    }
    (folder / SIGNATURE_FILE).write_text(json.dumps(bundle))
    return bundle


@pytest.fixture
def skill(skills_dir, write_skill):
    write_skill("pdf")
    (skills_dir / "pdf" / "scripts").mkdir()
    (skills_dir / "pdf" / "scripts" / "a.py").write_text("print(1)")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    manager.discover()
    return manager.get_skill("pdf")


def runs(tmp_path, skill, rules) -> bool:
    policy = tmp_path / "home" / "policy.json"
    policy.parent.mkdir(exist_ok=True)
    policy.write_text(json.dumps({"version": 1, **rules}))
    policy.chmod(0o600)
    authority = TeamAuthority(TrustEverySkill(), policy.parent, system=tmp_path / "none")
    digest = tree_digest(skill.base_dir).digest
    offered = authority.offer_refusal(skill, Requester()) is None
    assert offered is authority.grants(skill, digest, Requester()).run
    return offered


@pytest.mark.parametrize("key", KEYS)
def test_the_signer_and_each_authority_behind_it_can_be_allowed_and_denied(tmp_path, skill, key):
    root = Authority("Root", key=key)
    middle = Authority("Middle", root, key=key)
    leaf = Authority("Leaf", middle, ca=False, key=key)
    assert not runs(tmp_path, skill, {"allow": [{"signer": root.fingerprint}]})
    sign(skill.base_dir, leaf, middle, root)
    for each in (leaf, middle, root):
        assert runs(tmp_path, skill, {"allow": [{"signer": each.fingerprint}]})
        assert runs(tmp_path, skill, {"allow": [{"skill": "p*", "signer": each.fingerprint}]})
        assert not runs(tmp_path, skill, {"allow": [{"skill": "q*", "signer": each.fingerprint}]})
        assert not runs(tmp_path, skill, {"deny": [{"signer": each.fingerprint}]})
    assert not runs(tmp_path, skill, {"allow": [{"signer": Authority("Root").fingerprint}]})
    card = capabilities(read_folder(skill.base_dir), skill)
    assert f"Leaf ({leaf.fingerprint})" in card.signed


def change_script(skill):
    (skill.base_dir / "scripts" / "a.py").write_text("print(2)")


def add_script(skill):
    (skill.base_dir / "scripts" / "b.py").write_text("print(2)")


def hide_script(skill):
    (skill.base_dir / ".github").mkdir()
    (skill.base_dir / ".github" / "b.py").write_text("print(2)")


def remove_script(skill):
    (skill.base_dir / "scripts" / "a.py").unlink()


def rename_script(skill):
    (skill.base_dir / "scripts" / "a.py").rename(skill.base_dir / "scripts" / "b.py")


@pytest.mark.parametrize("change", [change_script, add_script, hide_script, remove_script, rename_script])
def test_other_bytes_than_those_that_were_signed_are_nobodys(tmp_path, skill, change):
    root = Authority("Root")
    sign(skill.base_dir, Authority("Leaf", root, ca=False), root)
    assert runs(tmp_path, skill, {"allow": [{"signer": root.fingerprint}]})
    change(skill)
    assert not runs(tmp_path, skill, {"allow": [{"signer": root.fingerprint}]})
    assert capabilities(read_folder(skill.base_dir), skill).signed[0].startswith("invalid: ")


@pytest.mark.parametrize(
    "attack",
    ["appended root", "leaf as authority", "expired", "own root of the same name", "root alone", "not JSON",
     "two signatures", "no signature", "named twice", "another predicate", "no files", "swapped payload",
     "deep JSON"],
)  # fmt: skip
def test_a_chain_or_a_statement_that_does_not_hold_is_nobodys(tmp_path, skill, attack):
    root = Authority("Root")
    leaf = Authority("Leaf", root, ca=False)
    bundle = sign(skill.base_dir, leaf, root)
    if attack == "appended root":  # pinned, but it issued nothing of this
        bundle = sign(skill.base_dir, Authority("Evil", ca=False), root)
    elif attack == "leaf as authority":
        bundle = sign(skill.base_dir, Authority("Evil", leaf, ca=False), leaf, root)
    elif attack == "expired":
        bundle = sign(skill.base_dir, Authority("Leaf", root, ca=False, days=-1), root)
    elif attack == "own root of the same name":
        other = Authority("Root")
        bundle = sign(skill.base_dir, Authority("Leaf", other, ca=False), root)
    elif attack == "root alone":
        bundle = sign(skill.base_dir, leaf)
        bundle["verificationMaterial"]["x509CertificateChain"]["certificates"] = [root.raw]
    elif attack == "swapped payload":
        payload = base64.b64decode(bundle["dsseEnvelope"]["payload"]).replace(
            b'"subject": []', b'"subject": 1'
        )
        bundle["dsseEnvelope"]["payload"] = base64.b64encode(payload).decode()
    elif attack == "two signatures":
        bundle["dsseEnvelope"]["signatures"] *= 2
    elif attack == "no signature":
        bundle["dsseEnvelope"]["signatures"] = []
    elif attack == "named twice":
        twice = lambda said: said["predicate"]["resources"].append(said["predicate"]["resources"][0])  # noqa: E731
        bundle = sign(skill.base_dir, leaf, root, change=twice)
    elif attack == "another predicate":
        other = lambda said: said.update(predicateType="https://slsa.dev/provenance/v1")  # noqa: E731
        bundle = sign(skill.base_dir, leaf, root, change=other)
    elif attack == "no files":
        bundle = sign(skill.base_dir, leaf, root, change=lambda said: said["predicate"].pop("resources"))
    text = {"not JSON": "{", "deep JSON": "[" * 100_000}.get(attack) or json.dumps(bundle)
    (skill.base_dir / SIGNATURE_FILE).write_text(text)
    assert not runs(tmp_path, skill, {"allow": [{"signer": root.fingerprint}]})


def test_without_the_library_a_policy_that_names_a_signer_denies_everything(tmp_path, skill, monkeypatch):
    monkeypatch.setattr("skillkit.install.team_policy.can_verify", lambda: False)
    assert not runs(tmp_path, skill, {"deny": [{"signer": f"sha256:{'0' * 64}"}]})
    assert not runs(tmp_path, skill, {"allow": [{"skill": "pdf"}], "deny": [{"signer": "Somebody"}]})
