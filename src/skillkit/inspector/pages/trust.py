"""Trust: trusted skills with who consented and when, later changes, and pending questions."""

from datetime import datetime

from skillkit.core.digest_memo import tree_digests
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata
from skillkit.core.text import count_of
from skillkit.inspector.layout import NOT_YET, action_address, iso_time, page, skill_link, why_trusted
from skillkit.inspector.library import Library
from skillkit.install.changes import file_changes
from skillkit.install.consents import Consent
from skillkit.install.enabled import SkillStatus
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import badge, command, nothing, place, section

MAX_ROWS = 200


def show(library: Library) -> str:
    """Return trusted and untrusted skills, and every consent of the user."""
    consents = library.enabled.authority.consents.load()
    checks = library.snapshot().checks
    statuses = checks.statuses
    trusted = [status for status in statuses if status.trust.trusted]
    pending = [status for status in statuses if not status.trust.trusted]
    waiting = [count_of(checks.waiting, "skill"), " ", NOT_YET, "."] if checks.waiting else None
    return page(
        "Trust",
        "/trust",
        tag(
            "div",
            tag("p", waiting, class_="notice") if waiting else None,
            _pending(library, pending, consents),
            _trusted(trusted, consents),
            id="trust",
            data_follow=True,
        ),
        _consents(consents, statuses),
        live=True,
    )


def _pending(library: Library, statuses: list[SkillStatus], consents: tuple[Consent, ...]) -> Markup:
    rows = [
        [
            [
                skill_link(status.skill.name),
                _answer(library, status),
            ],
            status.trust.reason,
            _changed_since(status, consents),
            place(status.skill.base_dir),
        ]
        for status in statuses[:MAX_ROWS]
    ]
    headings = ("Skill", "Why", "Changed since approval", "Folder")
    content = table(headings, rows, "Skills that are not trusted") if rows else nothing("None.")
    return section(f"Not trusted ({len(statuses):,})", content, _rest(len(statuses)))


def _answer(library: Library, status: SkillStatus) -> Markup:
    """Return what trusts a skill: a button, or the command."""
    if library.manage:
        return tag("div", link(action_address("trust", status.skill.name), "Trust"))
    remedy = library.enabled.selection.remedy(status.skill, trusted=False)
    return tag("div", command(remedy))


def _trusted(statuses: list[SkillStatus], consents: tuple[Consent, ...]) -> Markup:
    rows = [
        [
            skill_link(status.skill.name),
            why_trusted(status.trust),
            iso_time(_since(status, consents)),
            place(status.skill.base_dir),
        ]
        for status in statuses[:MAX_ROWS]
    ]
    content = table(("Skill", "Why", "Since", "Folder"), rows, "Trusted skills") if rows else nothing("None.")
    return section(f"Trusted ({len(statuses):,})", content, _rest(len(statuses)))


def _consents(consents: tuple[Consent, ...], statuses: list[SkillStatus]) -> Markup:
    digests = {status.trust.digest for status in statuses}
    rows = [
        [
            consent.skill,
            badge(consent.kind.value),
            iso_time(consent.granted_at),
            tag("span", consent.digest[:24], class_="mono"),
            badge("current", "good") if consent.digest in digests else badge("changed since"),
            consent.place or consent.server,
        ]
        for consent in reversed(consents)
    ]
    headings = ("Skill", "Consent to", "Since", "Digest", "State", "Where")
    content = table(headings, rows[:MAX_ROWS], "Consents") if rows else nothing("No consent was given yet.")
    return section(f"Consents ({len(rows):,})", content, _rest(len(rows)))


def _rest(number: int) -> Markup | None:
    if number <= MAX_ROWS:
        return None
    return tag("p", f"{number - MAX_ROWS:,} more; the list of skills shows them all.", class_="faint")


def _since(status: SkillStatus, consents: tuple[Consent, ...]) -> str:
    given = [one.granted_at for one in consents if one.digest == status.trust.digest and one.granted_at]
    return min(given, default="")


def _changed_since(status: SkillStatus, consents: tuple[Consent, ...]) -> object:
    """Return the files that differ from the consented tree, as far as it was kept."""
    skill = status.skill
    given = [one.granted_at for one in consents if one.skill == skill.name and one.granted_at]
    if not given:
        return ""
    last = max(given)
    changed = _changed_files(status, last)
    return ["since ", iso_time(last), ": ", tag("span", ", ".join(changed[:12]) or "unknown", class_="mono")]


def _changed_files(status: SkillStatus, since: str) -> list[str]:
    skill, record = status.skill, status.installed
    try:
        now = tree_digests.with_links(skill.base_dir).files
    except SkillsUseError:
        return []
    if record is not None and record.trusted:  # the consent is for exactly these files
        return [change.path for change in file_changes(record.files, now) if change.kind != "mode"]
    return _written_after(skill, list(now), since)


def _written_after(skill: SkillMetadata, paths: list[str], since: str) -> list[str]:
    """Return the files whose time on disk is later than the answer: of a folder only its digest was kept."""
    try:
        moment = datetime.fromisoformat(since).timestamp()
        return sorted(path for path in paths if (skill.base_dir / path).lstat().st_mtime > moment)
    except (OSError, ValueError):
        return []
