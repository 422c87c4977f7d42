"""Plugins of a marketplace: those that lie in it, and one that lies elsewhere."""

import json
from pathlib import Path

import pytest
from installing import Person
from skill_repositories import Repository, skill_text

from skillkit.install.exceptions import GitError, SourceError
from skillkit.install.installer import SkillInstaller
from skillkit.install.sources.marketplace_plugins import read_plugins

FORMATS = Path(__file__).parents[4] / "shared" / "data" / "formats" / "marketplace.json"
MANIFEST = ".claude-plugin/marketplace.json"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "elsewhere.git")
    made.commit({"plugins/far/skills/far-skill/SKILL.md": skill_text("far-skill")})
    return made


@pytest.fixture
def market(repository: Repository, elsewhere: Repository) -> Repository:
    plugins = [
        {"name": "office", "source": "./", "skills": ["./skills/pdf", "./skills/xls"]},
        {"name": "near", "source": "./plugins/near"},
        {"name": "codex", "source": {"source": "local", "path": "./plugins/codex"}},
        {"name": "far", "source": {"source": "git-subdir", "url": elsewhere.url, "path": "plugins/far"}},
        {"name": "run", "source": {"source": "command", "command": "touch /tmp/x"}},
        {"name": "out", "source": "../x"},
    ]
    repository.commit(
        {
            MANIFEST: json.dumps({"name": "m", "owner": {"name": "o"}, "plugins": plugins}),
            "skills/pdf/SKILL.md": skill_text("pdf"),
            "skills/xls/SKILL.md": skill_text("xls"),
            "skills/unlisted/SKILL.md": skill_text("unlisted"),
            "plugins/near/skills/near-skill/SKILL.md": skill_text("near-skill"),
            "plugins/codex/skills/codex-skill/SKILL.md": skill_text("codex-skill"),
        }
    )
    return repository


def test_a_repository_that_cannot_be_read_is_not_called_one_without_a_marketplace(
    installer: SkillInstaller, market: Repository
) -> None:
    oid = market.git("rev-parse", "HEAD:skills")
    (market.path / "objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(GitError) as refused:
        installer.add(f"marketplace:{market.url}", everything=True)
    assert "no marketplace" not in str(refused.value)


def test_plugins_of_every_shape_are_found_and_the_rest_is_named(
    installer: SkillInstaller, market: Repository
) -> None:
    added = installer.add(f"marketplace:{market.url}", everything=True)
    assert {skill.name: skill.subpath for skill in added} == {
        "pdf": "office/skills/pdf",
        "xls": "office/skills/xls",
        "near-skill": "near/skills/near-skill",
        "codex-skill": "codex/skills/codex-skill",
    }
    reasons = {left.path: left.reason for left in added.left_out}
    assert set(reasons) == {"far", "run", "out"}
    assert "far@" in reasons["far"]
    assert "'command' cannot be fetched" in reasons["run"]


def test_a_plugin_is_remembered_compared_updated_and_locked(
    installer: SkillInstaller, market: Repository, elsewhere: Repository, tmp_path: Path
) -> None:
    [far] = installer.add(f"far@marketplace:{market.url}")
    [pdf] = installer.add(f"office@marketplace:{market.url}", skills=["pdf"])
    assert (far.source.kind, far.name, far.subpath) == ("marketplace", "far-skill", "far/skills/far-skill")
    assert not any(found.outdated for found in installer.outdated())
    lock = tmp_path / "skills-lock.json"
    installer.lock(lock)
    elsewhere.commit({"plugins/far/skills/far-skill/SKILL.md": skill_text("far-skill", body="New.")})
    assert [found.skill.name for found in installer.outdated() if found.outdated] == ["far-skill"]
    assert installer.update("far-skill").previous[0].digest == far.digest
    other = SkillInstaller(tmp_path / "other", consent=Person())
    assert {skill.digest for skill in other.sync(lock)} == {far.digest, pdf.digest}


def test_what_is_no_marketplace_or_has_no_such_plugin_says_so(
    installer: SkillInstaller, market: Repository, elsewhere: Repository
) -> None:
    with pytest.raises(SourceError, match="is not a marketplace"):
        installer.add(f"marketplace:{elsewhere.url}")
    with pytest.raises(SourceError, match=r"no plugin 'nothing'\. It has: office, near"):
        installer.add(f"nothing@marketplace:{market.url}")
    with pytest.raises(SourceError, match="cannot be used"):
        installer.add(f"run@marketplace:{market.url}")


@pytest.mark.skipif(not FORMATS.is_dir(), reason="the real marketplaces are not beside the project")
def test_real_marketplaces_are_read() -> None:
    for path in sorted(FORMATS.glob("*.json")):
        assert all(plugin.name for plugin in read_plugins(path.read_bytes(), path.name))
