"""Links inside a skill: those that stay, and those that lead out."""

from pathlib import Path


def make_links(root: Path) -> None:
    (root / "inside").symlink_to("docs")
    (root / "inside-absolute").symlink_to(root / "docs")
    (root / "inside-file.md").symlink_to("docs/guide.md")
    (root / "docs" / "up.md").symlink_to("../docs/./guide.md")
    (root / "out.txt").symlink_to("../secret.txt")
    (root / "out-absolute.txt").symlink_to(root.parent / "secret.txt")
    (root / "out-folder").symlink_to("..")
    (root / "docs" / "out-twice").symlink_to("../../sibling")
    (root / "root").symlink_to("/")
    (root / "loop").symlink_to("loop")
    (root / "ping").symlink_to("pong")
    (root / "pong").symlink_to("ping")
    (root / "nowhere").symlink_to("missing.txt")
    (root / "almost").symlink_to(f"{root}-other/secret.txt")
