"""The archives that clients install from, and clawhub's fingerprint of a set of files."""

import hashlib
import io
import zipfile

from skillkit.install.tree import SkillTree

_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
_PUNCTUATION = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
_PLACE = {
    letter: number for number, letter in enumerate(_PUNCTUATION + "0123456789abcdefghijklmnopqrstuvwxyz")
}


def zip_of(tree: SkillTree) -> bytes:
    """Return a .zip of the files, byte for byte the same each time."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, file in sorted(tree.files.items()):
            info = zipfile.ZipInfo(path, _FIRST_DAY)
            info.create_system = 3
            info.external_attr = (0o100755 if file.executable else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, file.content)
    return packed.getvalue()


def fingerprint(tree: SkillTree) -> str:
    """Return clawhub's fingerprint of a folder: its text files, sorted like `localeCompare`."""
    lines = [
        f"{path}:{tree.digest.files[path].sha256}"
        for path in sorted(tree.files, key=_collation)
        if not any(part.startswith(".") for part in path.split("/")) and b"\0" not in tree.files[path].content
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _collation(path: str) -> tuple[list[int], list[bool]]:
    """Return the sort key of `localeCompare` for ASCII: punctuation, digits, letters, lower case first."""
    return (
        [_PLACE.get(letter, 100 + ord(letter)) for letter in path.lower()],
        [letter.isupper() for letter in path],
    )
