"""Real repositories made to do harm: each is refused with a reason, and nothing of it ran or stayed."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from installing import nothing_left
from skill_repositories import Repository, skill_text

from skillkit.core.digest import tree_digest
from skillkit.install.exceptions import (
    InstallError,
    RefNotFoundError,
    SourceError,
    UnsafeTreeError,
)
from skillkit.install.installer import SkillInstaller
from skillkit.install.proposal import Proposal
from skillkit.install.sources.git_remote import GitRemote
from skillkit.install.sources.kinds import parse_source
from skillkit.install.sources.source import Access
from skillkit.install.tree import TreeLimits

# Addresses and refs


@pytest.mark.parametrize(
    "source",
    [
        "--upload-pack=touch pwned",
        "-oProxyCommand=touch pwned",
        "ext::sh -c 'touch pwned'",
        "ext::sh -c touch% pwned",
        "fd::17/foo",
        "https://example.com/a.git#--upload-pack=touch pwned",
        "ssh://-oProxyCommand=touch@example.com/a",
        "ssh://example.com/-oProxyCommand=x/../a",
        "ssh://-oProxyCommand=x/a",
        "-user@example.com:a/b",
        "git://example.com/a.git",
        "http://example.com/a.git",
        "ftp://example.com/a.git",
        "file://host/a.git",
        "file:relative.git",
        "https://user:secret@example.com/a.git",
        "https:///a.git",
        "https://exa mple.com/a.git",
        "https://example.com/a.git?x=1",
        "https://example.com/../a\n.git",
        "owner/repo@-x",
        "owner/repo/../../x",
        "owner/..",
        "\u202eowner/repo",
        "",
        "a" * 5000,
    ],
)
def test_an_address_that_could_be_anything_else_is_refused(
    source: str, installer: SkillInstaller, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError) as caught:
        installer.add(source)
    assert not list(tmp_path.rglob("pwned"))
    assert "\u202e" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert nothing_left(home)


@pytest.mark.parametrize(
    "ref",
    ["--upload-pack=x", "-x", "a..b", "a b", "a~1", "a^{tree}", "a:b", "x.lock", "@{u}", "/a", "a\x1b", "*"],
)
def test_a_ref_that_git_could_read_as_something_else_is_refused(ref: str, repository: Repository) -> None:
    with pytest.raises(SourceError):
        parse_source(repository.url, ref=ref)


def test_a_branch_that_is_called_like_a_commit_is_not_taken_for_it(
    repository: Repository, installer: SkillInstaller
) -> None:
    wanted = repository.commit({"SKILL.md": skill_text("good")})
    repository.commit({"SKILL.md": skill_text("evil")}, ref=f"refs/heads/{wanted}")
    [skill] = installer.add(repository.url, ref=wanted)
    assert (skill.name, skill.commit_sha) == ("good", wanted)


def test_a_branch_that_is_called_like_a_missing_commit_is_not_taken_either(
    repository: Repository, installer: SkillInstaller, home: Path
) -> None:
    missing = "ab" * 20
    repository.commit({"SKILL.md": skill_text("evil")}, ref=f"refs/heads/{missing}")
    with pytest.raises(RefNotFoundError):
        installer.add(repository.url, ref=missing)
    assert nothing_left(home)


def test_an_abbreviated_commit_is_no_pin(repository: Repository, installer: SkillInstaller) -> None:
    commit = repository.commit({"SKILL.md": skill_text("good")})
    with pytest.raises(RefNotFoundError, match="40"):
        installer.add(repository.url, ref=commit[:10])


# What a tree may hold


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("120000", "symbolic link"), ("160000", "submodule"), ("100664", "unknown kind"), ("100600", "unknown")],
)
def test_only_plain_files_are_installed(
    mode: str, kind: str, repository: Repository, installer: SkillInstaller, home: Path
) -> None:
    entries = [("100644", b"SKILL.md", repository.blob(skill_text("sly").encode()))]
    entries.append((mode, b"other", repository.blob(b"/etc/passwd")))
    repository.commit_tree(repository.raw_tree(entries))
    with pytest.raises(UnsafeTreeError, match=kind):
        installer.add(repository.url)
    assert nothing_left(home)


def test_a_skill_file_that_is_a_link_is_refused(repository: Repository, installer: SkillInstaller) -> None:
    entries = [("120000", b"SKILL.md", repository.blob(b"/etc/passwd"))]
    repository.commit_tree(repository.raw_tree(entries))
    with pytest.raises(UnsafeTreeError, match="symbolic link"):
        installer.add(repository.url)


@pytest.mark.parametrize(
    "name",
    [
        b"..",
        b".",
        b".git",
        b".GIT",
        b".Git",
        b"git~1",
        b"GIT~2",
        b".git ",
        b".git.",
        b".git. .",
        ".g\u200cit".encode(),
        "\uff0egit".encode(),
        ".gıt".encode() + b"\xcc",
        b"a\\..\\b",
        b"C:evil",
        b"a:stream",
        b"con",
        b"NUL.txt",
        b"com1",
        b"trailing.",
        b"trailing ",
        b" leading",
        b"new\nline",
        b"bell\x07",
        b"\x1b[2J",
        "rtl\u202egnp.exe".encode(),
        b"\xff\xfe",
        b"a" * 600,
    ],
)
def test_a_name_that_means_something_to_some_system_is_refused(
    name: bytes, repository: Repository, installer: SkillInstaller, home: Path
) -> None:
    blob = repository.blob(skill_text("sly").encode())
    repository.commit_tree(repository.raw_tree([("100644", b"SKILL.md", blob), ("100644", name, blob)]))
    with pytest.raises(UnsafeTreeError) as caught:
        installer.add(repository.url)
    assert str(caught.value).isprintable()
    assert nothing_left(home)


def test_the_same_names_are_refused_for_folders(repository: Repository, installer: SkillInstaller) -> None:
    blob = repository.blob(skill_text("sly").encode())
    inner = repository.raw_tree([("100644", b"hooks", blob)])
    repository.commit_tree(repository.raw_tree([("40000", b".GIT", inner), ("100644", b"SKILL.md", blob)]))
    with pytest.raises(UnsafeTreeError, match="git"):
        installer.add(repository.url)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("readme.md", "README.md"),
        ("caf\u00e9.md", "cafe\u0301.md"),
        ("stra\u00dfe.md", "strasse.md"),
        ("\ufb01le.md", "file.md"),
        ("Docs/a.md", "docs/a.md"),
        ("docs", "Docs/a.md"),
    ],
)
def test_two_names_that_are_one_on_some_disk_are_refused(
    one: str, other: str, repository: Repository, installer: SkillInstaller, home: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("sly"), one: "1", other: "2"})
    with pytest.raises(UnsafeTreeError, match="same as"):
        installer.add(repository.url)
    assert nothing_left(home)


def test_a_tree_that_names_a_file_twice_is_refused(repository: Repository, installer: SkillInstaller) -> None:
    shown = repository.blob(skill_text("good").encode())
    hidden = repository.blob(skill_text("evil").encode())
    repository.commit_tree(
        repository.raw_tree([("100644", b"SKILL.md", shown), ("100644", b"SKILL.md", hidden)])
    )
    with pytest.raises(UnsafeTreeError, match="twice"):
        installer.add(repository.url)


# Too much


def test_more_files_than_allowed_are_refused_and_may_be_allowed(repository: Repository, home: Path) -> None:
    files = {f"references/{number}.md": "x" for number in range(20)}
    repository.commit({"SKILL.md": skill_text("big"), **files})
    small = SkillInstaller(home, consent=lambda proposal: True, limits=TreeLimits(max_files=20))
    with pytest.raises(UnsafeTreeError, match="20 files"):
        small.add(repository.url)
    assert nothing_left(home)
    large = SkillInstaller(home, consent=lambda proposal: True, limits=TreeLimits(max_files=21))
    assert len(large.add(repository.url)[0].files) == 21


def test_more_bytes_than_allowed_are_refused(repository: Repository, home: Path) -> None:
    repository.commit({"SKILL.md": skill_text("big"), "data.bin": os.urandom(300_000)})
    small = SkillInstaller(home, consent=lambda proposal: True, limits=TreeLimits(max_bytes=200_000))
    with pytest.raises(UnsafeTreeError, match="bytes"):
        small.add(repository.url)
    assert nothing_left(home)


def test_a_compression_bomb_is_refused_before_it_is_unpacked(repository: Repository, home: Path) -> None:
    repository.commit({"SKILL.md": skill_text("bomb"), "zeros": bytes(64 * 1024 * 1024)})
    with pytest.raises(UnsafeTreeError, match="bytes"):
        SkillInstaller(home, consent=lambda proposal: True).add(repository.url)
    assert nothing_left(home)


def test_a_tree_bomb_of_folders_in_folders_is_refused(
    repository: Repository, installer: SkillInstaller
) -> None:
    blob = repository.blob(b"x")
    tree = repository.raw_tree([("100644", b"file%02d" % number, blob) for number in range(10)])
    for _ in range(10):
        tree = repository.raw_tree([("40000", b"folder%02d" % number, tree) for number in range(10)])
    skill = repository.blob(skill_text("bomb").encode())
    repository.commit_tree(repository.raw_tree([("100644", b"SKILL.md", skill), ("40000", b"bomb", tree)]))
    with pytest.raises(UnsafeTreeError, match="files"):
        installer.add(repository.url)


def test_folders_nested_without_end_are_refused(repository: Repository, installer: SkillInstaller) -> None:
    tree = repository.raw_tree([("100644", b"file", repository.blob(b"x"))])
    for _ in range(200):
        tree = repository.raw_tree([("40000", b"d", tree)])
    skill = repository.blob(skill_text("deep").encode())
    repository.commit_tree(repository.raw_tree([("100644", b"SKILL.md", skill), ("40000", b"d", tree)]))
    with pytest.raises(UnsafeTreeError, match="deep"):
        installer.add(repository.url)


# Nothing runs


def test_nothing_of_a_repository_or_of_bad_settings_is_executed(
    repository: Repository, installer: SkillInstaller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks, filters, LFS, templates, submodules, monitors, aliases and helpers stay asleep."""
    marker = tmp_path / "pwned"
    touch = tmp_path / "touch.sh"
    touch.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    touch.chmod(0o755)
    for name in (
        "post-checkout",
        "post-merge",
        "reference-transaction",
        "pre-auto-gc",
        "update",
        "post-index-change",
    ):
        hook = repository.path / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(touch.read_text())
        hook.chmod(0o755)
    repository.git("config", "core.fsmonitor", str(touch))
    repository.git("config", "uploadpack.packObjectsHook", str(touch))
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (template / name).write_text(touch.read_text())
        (template / name).chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(
        f"[init]\n\ttemplateDir = {template.parent}\n"
        f"[core]\n\thooksPath = {template}\n\tfsmonitor = {touch}\n"
        f'[filter "lfs"]\n\tsmudge = {touch}\n\tprocess = {touch}\n\trequired = true\n'
        f'[filter "evil"]\n\tsmudge = {touch}\n[diff "evil"]\n\ttextconv = {touch}\n'
        f"[submodule]\n\trecurse = true\n[fetch]\n\trecurseSubmodules = true\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(template.parent))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(touch))
    monkeypatch.setenv("GIT_DIR", str(repository.path))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'core.fsmonitor={touch}'")
    repository.commit(
        {
            "SKILL.md": skill_text("quiet"),
            ".gitattributes": "* filter=evil diff=evil\n*.bin filter=lfs\n",
            ".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch {marker}"\n',
            "data.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
            "100755 scripts/run.sh": touch.read_text(),
        }
    )
    repository.git("update-ref", "refs/heads/other", "HEAD")
    assert marker.exists(), "the traps work: moving a ref has sprung one"
    marker.unlink()
    [skill] = installer.add(repository.url)
    assert not marker.exists()
    assert "data.bin" in skill.files
    installer.outdated()
    installer.update("quiet")
    assert not marker.exists()


def test_lfs_pointers_are_named_on_the_card(repository: Repository, home: Path) -> None:
    repository.commit(
        {"SKILL.md": skill_text("heavy"), "model.bin": "version https://git-lfs.github.com/spec/v1\noid x\n"}
    )
    seen: list[Proposal] = []
    installer = SkillInstaller(home, consent=lambda proposal: bool(seen.append(proposal)) or True)
    installer.add(repository.url)
    assert seen[0].offers[0].capabilities.not_fetched == ("model.bin",)


def test_what_is_installed_cannot_be_written_to_by_accident(
    repository: Repository, installer: SkillInstaller, home: Path
) -> None:
    repository.commit({"SKILL.md": skill_text("calm"), "100755 scripts/run.sh": "#!/bin/sh\n"})
    [skill] = installer.add(repository.url)
    folder = home / "store" / skill.stored
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
    assert modes == {"SKILL.md": 0o444, "run.sh": 0o555}
    assert not list(home.rglob(".git"))


def test_setuid_and_odd_modes_do_not_exist_in_a_skill(
    repository: Repository, installer: SkillInstaller, home: Path
) -> None:
    blob = repository.blob(skill_text("root").encode())
    repository.commit_tree(repository.raw_tree([("104755", b"SKILL.md", blob)]))
    with pytest.raises(InstallError):
        installer.add(repository.url)
    assert nothing_left(home)


# Between review and installation


def test_what_changes_between_review_and_installation_does_not_count(
    repository: Repository, home: Path
) -> None:
    approved = repository.commit({"SKILL.md": skill_text("shifty")})

    def consent(proposal: Proposal) -> bool:
        repository.commit({"SKILL.md": skill_text("shifty", body="Something else entirely.")})
        return True

    [skill] = SkillInstaller(home, consent=consent).add(repository.url)
    assert skill.commit_sha == approved
    assert "Do it." in (home / "skills" / "shifty" / "SKILL.md").read_text()


def test_a_folder_that_changes_between_review_and_installation_does_not_count(
    tmp_path: Path, home: Path
) -> None:
    folder = tmp_path / "local"
    folder.mkdir()
    (folder / "SKILL.md").write_text(skill_text("local"))
    digest = tree_digest(folder).digest

    def consent(proposal: Proposal) -> bool:
        (folder / "SKILL.md").write_text(skill_text("local", body="Changed."))
        return True

    [skill] = SkillInstaller(home, consent=consent).add(str(folder))
    assert skill.digest == digest == tree_digest(home / "store" / skill.stored).digest


@pytest.mark.parametrize("trick", ["link", "fifo", "outside"])
def test_a_folder_with_links_or_special_files_is_refused(trick: str, tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "local"
    folder.mkdir()
    (folder / "SKILL.md").write_text(skill_text("local"))
    if trick == "fifo":
        os.mkfifo(folder / "pipe")
    else:
        (folder / "link").symlink_to("SKILL.md" if trick == "link" else "/etc/passwd")
    with pytest.raises(UnsafeTreeError, match="symbolic link or a special file"):
        SkillInstaller(home, consent=lambda proposal: True).add(str(folder))
    assert nothing_left(home)


def test_git_is_gone_with_everything_it_started_when_it_is_stopped(tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\nsleep 1000 &\necho $! > "$HOME/child"\nwait\n')
    fake.chmod(0o755)
    path = f"{fake.parent}{os.pathsep}{os.environ['PATH']}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path)
        patch.setenv("HOME", str(tmp_path))
        with (
            GitRemote("file:///nowhere", Access(timeout=0.5, back_off=())) as remote,
            pytest.raises(InstallError, match="seconds"),
        ):
            remote.resolve(None)
    child = int((tmp_path / "child").read_text())
    gone = subprocess.run(["kill", "-0", str(child)], capture_output=True, check=False)
    state = Path(f"/proc/{child}/stat")
    assert gone.returncode != 0 or (state.exists() and state.read_text().split()[2] == "Z")


def test_hooks_that_the_user_configured_for_all_repositories_are_not_run(
    repository: Repository, installer: SkillInstaller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`reference-transaction` runs whenever a fetch stores a ref, as the fallback for plain servers does."""
    ran = tmp_path / "ran"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-checkout", "pre-auto-gc"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {ran}\n")
        (hooks / name).chmod(0o755)
    configuration = tmp_path / "gitconfig"
    configuration.write_text(f"[core]\n\thooksPath = {hooks}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    repository.commit({"SKILL.md": skill_text("quiet")})
    with GitRemote(repository.url) as remote:
        remote._fetch_everything()
    installer.add(repository.url)
    assert not ran.exists()
