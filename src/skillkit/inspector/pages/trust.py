"""Trust: what is trusted, by whom and since when, what changed since, and what waits for an answer."""

from datetime import datetime

from skillkit.core.digest_memo import tree_digests
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata
from skillkit.inspector.layout import page
from skillkit.inspector.library import Library
from skillkit.inspector.pages.manage import action_address
from skillkit.inspector.pages.skills import NOT_YET, address
from skillkit.install.changes import file_changes
from skillkit.install.consents import Consent
from skillkit.install.enabled import SkillStatus
from skillkit.web.html import Markup, link, table, tag
from skillkit.web.layout import badge, count_of, nothing, place, section

MAX_ROWS = 200


def show(library: Library) -> str:
    """Return what is trusted and what is not, and every yes of the user."""
    consents = library.enabled.authority.consents.load()
    judgements = library.snapshot().judgements
    statuses = judgements.statuses
    trusted = [status for status in statuses if status.standing.trusted]
    pending = [status for status in statuses if not status.standing.trusted]
    waiting = f"{count_of(judgements.waiting, 'skill')} {NOT_YET}." if judgements.waiting else None
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
                link(address(status.skill.name), status.skill.name),
                [" ", link(action_address("trust", status.skill.name), "Answer")] if library.manage else None,
            ],
            status.standing.reason,
            _changed_since(status, consents),
            place(status.skill.base_dir),
        ]
        for status in statuses[:MAX_ROWS]
    ]
    headings = ("Skill", "Why", "Changed since a yes", "Folder")
    content = table(headings, rows, "Skills that are not trusted") if rows else nothing("None.")
    return section(f"Waiting for an answer ({len(statuses):,})", content, _rest(len(statuses)))


def _trusted(statuses: list[SkillStatus], consents: tuple[Consent, ...]) -> Markup:
    rows = [
        [
            link(address(status.skill.name), status.skill.name),
            "you" if status.standing.reason == "approved" else f"nobody had to: it {status.standing.reason}",
            _since(status, consents),
            place(status.skill.base_dir),
        ]
        for status in statuses[:MAX_ROWS]
    ]
    content = (
        table(("Skill", "By whom", "Since", "Folder"), rows, "Trusted skills") if rows else nothing("None.")
    )
    return section(f"Trusted ({len(statuses):,})", content, _rest(len(statuses)))


def _consents(consents: tuple[Consent, ...], statuses: list[SkillStatus]) -> Markup:
    digests = {status.standing.digest for status in statuses}
    rows = [
        [
            consent.skill,
            badge(consent.kind.value),
            consent.granted_at,
            tag("span", consent.digest[:24], class_="mono"),
            badge("these bytes are here", "good") if consent.digest in digests else badge("other bytes now"),
            consent.place or consent.server,
        ]
        for consent in reversed(consents)
    ]
    headings = ("Skill", "To what", "Since", "Digest", "Now", "Where")
    content = table(headings, rows[:MAX_ROWS], "Consents") if rows else nothing("No consent was given yet.")
    return section(f"Every yes ({len(rows):,})", content, _rest(len(rows)))


def _rest(number: int) -> Markup | None:
    if number <= MAX_ROWS:
        return None
    return tag("p", f"{number - MAX_ROWS:,} more; the list of skills shows them all.", class_="faint")


def _since(status: SkillStatus, consents: tuple[Consent, ...]) -> str:
    given = [one.granted_at for one in consents if one.digest == status.standing.digest and one.granted_at]
    return min(given, default="")


def _changed_since(status: SkillStatus, consents: tuple[Consent, ...]) -> object:
    """Return which files are not what the user said yes to, as far as that was kept."""
    skill = status.skill
    given = [one.granted_at for one in consents if one.skill == skill.name and one.granted_at]
    if not given:
        return ""
    last = max(given)
    changed = _changed_files(status, last)
    return [f"since {last}: ", tag("span", ", ".join(changed[:12]) or "unknown", class_="mono")]


def _changed_files(status: SkillStatus, since: str) -> list[str]:
    skill, record = status.skill, status.installed
    try:
        now = tree_digests.with_links(skill.base_dir).files
    except SkillsUseError:
        return []
    if record is not None and record.trusted:  # the yes was to these very files
        return [change.path for change in file_changes(record.files, now) if change.kind != "mode"]
    return _written_after(skill, list(now), since)


def _written_after(skill: SkillMetadata, paths: list[str], since: str) -> list[str]:
    """Return the files whose time on disk is later than the answer: of a folder only its digest was kept."""
    try:
        moment = datetime.fromisoformat(since).timestamp()
        return sorted(path for path in paths if (skill.base_dir / path).lstat().st_mtime > moment)
    except (OSError, ValueError):
        return []
