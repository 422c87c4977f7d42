"""`computedHash` of skills-lock.json: the formula of `npx skills`, and the variants that files have."""

import hashlib
from collections.abc import Iterator, Mapping

_ORDER = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
_WEIGHTS = {character: weight for weight, character in enumerate(_ORDER)}
_LEFT_OUT = frozenset({".git", "node_modules"})
_BINARY_START = 8000


def computed_hash(files: Mapping[str, bytes]) -> str:
    """Return the hash as `npx skills` writes it: paths and contents, in the order of `localeCompare`."""
    digest = hashlib.sha256()
    for path in sorted(_counted(files), key=_locale_key):
        digest.update(path.encode())
        digest.update(files[path])
    return digest.hexdigest()


def fitting_formula(files: Mapping[str, bytes], recorded: str) -> str | None:
    """Describe the formula that gives the recorded hash; None if none does."""
    for words, value in _variants(files):
        if value == recorded:
            return words
    return None


def text_hash(data: bytes) -> str:
    """Return the hash of one file as APM writes it: text has Unix line endings."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def _variants(files: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    yield "as it is", computed_hash(files)
    yield "with Windows line endings", computed_hash({path: _crlf(data) for path, data in files.items()})
    lines = sorted(f"{path}:{hashlib.sha256(files[path]).hexdigest()}" for path in _counted(files))
    yield "by the formula of registries", hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _counted(files: Mapping[str, bytes]) -> list[str]:
    return [path for path in files if not _LEFT_OUT & set(path.split("/")[:-1])]


def _crlf(data: bytes) -> bytes:
    if b"\0" in data[:_BINARY_START]:
        return data
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _locale_key(path: str) -> tuple[list[int], list[bool], str]:
    """Return a key in the order of ICU's root collation for ASCII; other characters come last."""
    weights = [_WEIGHTS.get(character, 1000 + ord(character)) for character in path.lower()]
    return weights, [character.isupper() for character in path], path
