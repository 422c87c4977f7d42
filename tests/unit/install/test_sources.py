"""The grammar of sources."""

from pathlib import Path

import pytest

from skillkit.install.exceptions import InstallError, SourceError, UnsafeTreeError
from skillkit.install.fetch import SkillSelector, _chosen
from skillkit.install.paths import check_paths
from skillkit.install.sources.folder import FolderSource
from skillkit.install.sources.git import GitSource
from skillkit.install.sources.kinds import parse_source
from skillkit.install.sources.layout import Listing, Skipped

SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("owner/repo", GitSource("https://github.com/owner/repo")),
        ("owner/repo.git", GitSource("https://github.com/owner/repo")),
        ("owner/repo@v1.0", GitSource("https://github.com/owner/repo", "v1.0")),
        ("owner/repo#main", GitSource("https://github.com/owner/repo", "main")),
        ("owner/repo/skills/pdf", GitSource("https://github.com/owner/repo", None, "skills/pdf")),
        (
            "owner/repo/skills/pdf@feature/x",
            GitSource("https://github.com/owner/repo", "feature/x", "skills/pdf"),
        ),
        ("https://example.com/a/b.git", GitSource("https://example.com/a/b.git")),
        ("https://example.com/a/b/#v1", GitSource("https://example.com/a/b", "v1")),
        ("https://example.com:8443/a", GitSource("https://example.com:8443/a")),
        ("ssh://git@example.com/a/b.git#main", GitSource("ssh://git@example.com/a/b.git", "main")),
        ("git@example.com:a/b.git", GitSource("ssh://git@example.com/a/b.git")),
        ("git@example.com:a/b.git#main", GitSource("ssh://git@example.com/a/b.git", "main")),
        ("file:///srv/a.git", GitSource("file:///srv/a.git")),
        ("http://127.0.0.1:8000/a.git", GitSource("http://127.0.0.1:8000/a.git")),
        ("http://localhost/a.git", GitSource("http://localhost/a.git")),
        ("https://[::1]:8000/a.git", GitSource("https://[::1]:8000/a.git")),
        (
            "https://github.com/owner/repo/tree/main/skills/pdf",
            GitSource("https://github.com/owner/repo", "main", "skills/pdf"),
        ),
        (
            "https://github.com/owner/repo/blob/main/skills/pdf/SKILL.md",
            GitSource("https://github.com/owner/repo", "main", "skills/pdf"),
        ),
        ("https://github.com/owner/repo/tree/main", GitSource("https://github.com/owner/repo", "main")),
    ],
)
def test_what_people_write_is_understood(text: str, expected: GitSource) -> None:
    assert parse_source(text) == expected


def test_folders_are_told_by_how_they_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "skills").mkdir()
    for text in ("./skills", "~/skills", str(tmp_path / "skills")):
        assert parse_source(text) == FolderSource(tmp_path / "skills")
    assert parse_source(".", path="skills") == FolderSource(tmp_path, "skills")
    assert str(parse_source("./skills")) == str(tmp_path / "skills")
    with pytest.raises(SourceError, match=r"write \./skills"):
        parse_source("skills")
    with pytest.raises(SourceError, match="no folder"):
        parse_source("./nowhere")
    with pytest.raises(SourceError, match="no branches"):
        parse_source("./skills", ref="main")


def test_ref_and_path_may_stand_beside_the_source_but_not_twice() -> None:
    assert parse_source("owner/repo", ref=SHA, path="./a//b/") == GitSource(
        "https://github.com/owner/repo", SHA, "a/b"
    )
    assert parse_source("owner/repo@main", ref="main").ref == "main"
    assert parse_source("owner/repo/skills/pdf/SKILL.md").path == "skills/pdf"
    with pytest.raises(SourceError, match="Two refs"):
        parse_source("owner/repo@main", ref="other")
    with pytest.raises(SourceError, match="Two paths"):
        parse_source("owner/repo/a", path="b")
    for path in ("../a", "/a", "a\\b", "a\x00"):
        with pytest.raises(SourceError):
            parse_source("owner/repo", path=path)


def test_a_full_commit_is_a_pin_and_nothing_else_is() -> None:
    assert GitSource("https://example.com/a", SHA).pinned
    for ref in (None, "main", SHA[:12], SHA.upper()):
        assert not GitSource("https://example.com/a", ref).pinned
    assert str(GitSource("https://example.com/a", "main", "x")) == "https://example.com/a#main (x)"


def test_one_word_is_not_a_source() -> None:
    with pytest.raises(SourceError, match="owner/repo"):
        parse_source("word")


@pytest.mark.parametrize("user", ["ghp_TOKEN", "ada", "ada:secret", ":secret", "x-access-token:ghp_TOKEN"])
def test_no_token_gets_into_registry_and_lock(user: str) -> None:
    with pytest.raises(SourceError, match="token") as refusal:
        parse_source(f"https://{user}@example.com/a/b.git")
    assert "TOKEN" not in str(refusal.value)


def test_another_host_can_be_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_HOST", "git.example.com")
    assert parse_source("owner/repo") == GitSource("https://git.example.com/owner/repo")
    assert parse_source("https://github.com/owner/repo/tree/main") == GitSource(
        "https://github.com/owner/repo", "main"
    )
    monkeypatch.setenv("GH_HOST", "a/b@c")
    with pytest.raises(SourceError, match="GH_HOST"):
        parse_source("owner/repo")


def test_a_refusal_is_never_as_long_as_the_path_it_is_about() -> None:
    with pytest.raises(UnsafeTreeError) as refused:
        check_paths({"d/" * 3000 + "f": None})
    assert len(str(refused.value)) < 1000


def test_reasons_why_nothing_is_there_have_an_end_and_say_so() -> None:
    class Empty:
        followed = parse_source("owner/repo")

    left = tuple(Skipped(f"p{number}", "it is not there") for number in range(5000))
    with pytest.raises(InstallError, match=r"… and 4,\d+ more") as refused:
        _chosen(Empty(), "", Listing((), left), SkillSelector(everything=True))  # type: ignore[arg-type]
    assert len(str(refused.value)) < 5000


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("https://github.com/owner/repo.git", {"source": "owner/repo", "skillPath": "a/SKILL.md"}),
        ("owner/repo#v1", {"source": "owner/repo", "ref": "v1"}),
        ("https://git.example.com/team/skills", {"sourceUrl": "https://git.example.com/team/skills.git"}),
        ("https://gitlab.com/team/skills", {"sourceType": "gitlab", "skillPath": "a/SKILL.md"}),
        ("git@example.com:a/b", {"sourceUrl": "git@example.com:a/b", "skillPath": "a/SKILL.md"}),
        ("ssh://git@example.com:2222/a/b.git", {"sourceUrl": "ssh://git@example.com:2222/a/b.git"}),
        ("file:///srv/skills", {"sourceUrl": "file:///srv/skills", "skillPath": None}),
    ],
)
def test_an_address_is_locked_in_the_form_that_the_stock_client_restores(
    text: str, fields: dict[str, str | None]
) -> None:
    written = parse_source(text).lock_fields("a/SKILL.md")
    assert {name: written.get(name) for name in fields} == fields
    assert ("ref" in written) == ("#" in text)
