"""Tier 2 and 3 through the manager: the same bytes by every road, and never an old text."""

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from discovered import settle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillkit import (
    ContentLoadError,
    InvalidFrontmatterError,
    InvalidYAMLError,
    PathSecurityError,
    SizeLimitExceededError,
    Skill,
    SkillManager,
    SkillNotFoundError,
    SkillParsingError,
    SkillsUseError,
)
from skillkit.core import content
from skillkit.core import manager as facade
from skillkit.core.content import MAX_SKILL_BYTES
from skillkit.core.models import InitMode

HEADER = "---\nname: pdf\ndescription: d\n---\n"


@pytest.fixture
def manager(skills_dir: Path, write_skill) -> SkillManager:
    write_skill("pdf", "Read $ARGUMENTS now.\n")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    manager.discover()
    return manager


@pytest.fixture
def file(manager: SkillManager) -> Path:
    return manager.get_skill("pdf").skill_path


def body(text: str) -> str:
    return text.split("\n\n", 1)[1]


def test_the_text_is_as_the_contract_says(manager: SkillManager, skills_dir: Path) -> None:
    assert manager.invoke_skill("pdf", "a.pdf") == (
        f"Base directory for this skill: {skills_dir}/pdf\n\nRead a.pdf now.\n"
    )


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.one_of(st.none(), st.text(max_size=30)))
def test_every_road_gives_the_same_bytes(manager: SkillManager, arguments: str | None) -> None:
    skill = manager.load_skill("pdf")
    assert isinstance(skill, Skill)
    texts = {
        manager.invoke_skill("pdf", arguments),
        manager.invoke_skill("project:PDF", arguments),
        skill.invoke(arguments),
        asyncio.run(skill.ainvoke(arguments)),
        asyncio.run(manager.ainvoke_skill("pdf", arguments)),
    }
    assert texts == {
        f"Base directory for this skill: {skill.base_directory}\n\nRead {arguments or ''} now.\n"
    }


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (HEADER.encode() + b"\n\n\nBody\r\nmore\rend", "Body\nmore\nend"),
        (b"\xef\xbb\xbf" + HEADER.encode() + b"Body", "Body"),
        (HEADER.replace("\n", "\r\n").encode() + b"Body\r\n", "Body\n"),
        (HEADER.encode() + b"a\n---\nb", "a\n---\nb"),
        (HEADER.encode(), ""),
        (HEADER.rstrip("\n").encode(), ""),
    ],
)
def test_the_body_is_what_follows_the_header(
    manager: SkillManager, file: Path, data: bytes, expected: str
) -> None:
    file.write_bytes(data)
    assert manager.load_skill("pdf").content == expected
    assert body(manager.invoke_skill("pdf")) == expected


async def test_async_needs_a_filled_manager(skills_dir: Path, write_skill) -> None:
    write_skill("a")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    with pytest.raises(SkillsUseError, match="not initialized"):
        await manager.ainvoke_skill("a")
    await manager.adiscover()
    assert manager.init_mode is InitMode.ASYNC
    assert await manager.ainvoke_skill("a") == manager.invoke_skill("a"), "sync and async may be mixed"


def test_nothing_is_read_before_it_is_asked_for(manager: SkillManager, file: Path) -> None:
    skill = manager.load_skill("pdf")
    file.write_text(HEADER + "Later")
    assert skill.content == "Later"


# The cache is never wrong


def test_the_same_question_is_answered_from_the_cache(
    manager: SkillManager, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(file)
    first = manager.invoke_skill("pdf", "x")
    monkeypatch.setattr(facade, "read_document", lambda *_, **__: pytest.fail("read again"))
    assert manager.invoke_skill("pdf", "x") is first
    assert manager.invoke_skill("PDF", "x") is first
    stats = manager.get_cache_stats()
    assert (stats.size, stats.hits, stats.misses) == (1, 2, 1)


def test_none_is_no_arguments_and_white_space_counts(manager: SkillManager) -> None:
    assert manager.invoke_skill("pdf", None) is manager.invoke_skill("pdf", "")
    assert body(manager.invoke_skill("pdf", " a")) == "Read  a now.\n"
    assert body(manager.invoke_skill("pdf", "a")) == "Read a now.\n"
    assert manager.get_cache_stats().size == 3


def edit(file: Path) -> None:
    file.write_text(HEADER + "New text")


def edit_to_same_length(file: Path) -> None:
    status = file.stat()
    file.write_text(file.read_text().replace("Read", "Poke"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def replace_by_an_older_file(file: Path) -> None:
    other = file.with_name("other.md")
    other.write_text(HEADER + "Old text")
    os.utime(other, (1_000_000, 1_000_000))
    os.replace(other, file)


def rename_over_with_same_time_and_size(file: Path) -> None:
    status = file.stat()
    other = file.with_name("other.md")
    other.write_text(file.read_text().replace("Read", "Poke"))
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(other, file)


def swap_folder(file: Path) -> None:
    os.rename(file.parent, file.parent.parent.with_name("old"))
    file.parent.mkdir()
    file.write_text(HEADER + "Another folder")


@pytest.mark.parametrize(
    "change",
    [edit, edit_to_same_length, replace_by_an_older_file, rename_over_with_same_time_and_size, swap_folder],
)
@pytest.mark.parametrize("rediscover", [False, True])
def test_a_change_is_seen_at_once(
    manager: SkillManager, file: Path, change: Callable[[Path], None], rediscover: bool
) -> None:
    before = manager.invoke_skill("pdf")
    change(file)
    if rediscover:
        manager.discover()
    after = manager.invoke_skill("pdf")
    assert after != before
    assert body(after) == content.read_whole(file)[0].decode().split("---\n", 2)[2].replace("$ARGUMENTS", "")


def test_a_touch_reads_again_and_gives_the_same(manager: SkillManager, file: Path) -> None:
    settle(file)
    before = manager.invoke_skill("pdf")
    os.utime(file, (1, 1))
    assert manager.invoke_skill("pdf") == before
    assert manager.get_cache_stats().misses == 2


def test_rediscovery_keeps_what_is_still_true(manager: SkillManager) -> None:
    before = manager.invoke_skill("pdf")
    manager.discover()
    assert manager.invoke_skill("pdf") is before


def test_two_skills_of_one_name_never_share(skills_dir: Path, write_skill, tmp_path: Path) -> None:
    write_skill("pdf", "Mine $ARGUMENTS")
    write_skill("pdf", "Theirs $ARGUMENTS", into=tmp_path / "custom")
    manager = SkillManager(
        project_skill_dir=skills_dir, anthropic_config_dir="", additional_search_paths=[tmp_path / "custom"]
    )
    manager.discover()
    for _ in range(2):
        assert body(manager.invoke_skill("pdf", "x")) == "Mine x"
        assert body(manager.invoke_skill("custom:pdf", "x")) == "Theirs x"
    assert manager.clear_cache("custom:pdf") == 1
    assert manager.clear_cache("custom:pdf") == 0
    assert manager.get_cache_stats().size == 1


async def test_clearing(manager: SkillManager) -> None:
    for arguments in ("a", "b"):
        manager.invoke_skill("pdf", arguments)
    assert manager.clear_cache("unknown") == 0
    assert manager.clear_cache("PDF") == 2
    manager.invoke_skill("pdf")
    assert await manager.aclear_cache() == 1
    assert manager.get_cache_stats().hit_rate == 0.0


def test_the_cache_has_the_size_that_was_asked_for(skills_dir: Path, write_skill) -> None:
    write_skill("a", "$ARGUMENTS")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", max_cache_size=2)
    manager.discover()
    for number in range(5):
        manager.invoke_skill("a", str(number))
    stats = manager.get_cache_stats()
    assert (stats.size, stats.max_size) == (2, 2)


def test_32_threads_get_their_own_texts_and_exact_numbers(skills_dir: Path, write_skill) -> None:
    for number in range(5):
        write_skill(f"skill-{number}", f"I am {number}: $ARGUMENTS")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", max_cache_size=10)
    manager.discover()

    def use(thread: int) -> None:
        for step in range(60):
            number, arguments = (thread + step) % 5, str((thread * step) % 7)
            text = manager.invoke_skill(f"skill-{number}", arguments)
            assert body(text) == f"I am {number}: {arguments}"

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(use, range(32)))
    stats = manager.get_cache_stats()
    assert stats.hits + stats.misses == 32 * 60
    assert stats.size == 10


def test_several_event_loops_share_a_manager(manager: SkillManager) -> None:
    async def use(loop: int) -> list[str]:
        return await asyncio.gather(*(manager.ainvoke_skill("pdf", f"{loop}-{step}") for step in range(20)))

    with ThreadPoolExecutor(4) as pool:
        for loop, texts in enumerate(pool.map(lambda loop: asyncio.run(use(loop)), range(4))):
            assert [body(text) for text in texts] == [f"Read {loop}-{step} now.\n" for step in range(20)]
    stats = manager.get_cache_stats()
    assert stats.hits + stats.misses == 80


def test_a_text_is_whole_while_the_file_is_being_replaced(manager: SkillManager, file: Path) -> None:
    texts = {letter: HEADER + letter * 5000 for letter in "abc"}
    stop = threading.Event()

    def replace() -> None:
        while not stop.is_set():
            for letter, text in texts.items():
                other = file.with_name(f"{letter}.tmp")
                other.write_text(text)
                os.replace(other, file)

    file.write_text(texts["a"])
    writer = threading.Thread(target=replace)
    writer.start()
    try:
        for _ in range(300):
            assert len(set(body(manager.invoke_skill("pdf")))) == 1
    finally:
        stop.set()
        writer.join()


async def test_the_loop_goes_on_while_a_file_is_read(
    manager: SkillManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticked = threading.Event()
    real_read = content.read_whole

    def slow(path: Path):
        assert ticked.wait(30), "the event loop stood still"
        return real_read(path)

    monkeypatch.setattr(content, "read_whole", slow)

    async def tick() -> None:
        await asyncio.sleep(0)
        ticked.set()

    text, _ = await asyncio.gather(manager.ainvoke_skill("pdf", "x"), tick())
    assert body(text) == "Read x now.\n"
    ticked.clear()
    text, _ = await asyncio.gather(manager.load_skill("pdf").ainvoke("x"), tick())
    assert body(text) == "Read x now.\n"


# Strict at invocation


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"---\nname: pdf\ndescription: d\ntags: [a\n---\nBody", InvalidYAMLError),
        (b"---\nname: pdf\ndescription: d\n\n# Body", InvalidFrontmatterError),
        (b"# Just a body", InvalidFrontmatterError),
        (b"---\nname: pdf\n---\nBody", SkillParsingError),
        (b"---\nname: ../x\ndescription: d\n---\nBody", InvalidFrontmatterError),
        (HEADER.encode() + b"\xff", ContentLoadError),
    ],
)
@pytest.mark.parametrize("cached", [False, True])
def test_a_file_that_became_invalid_raises(
    manager: SkillManager, file: Path, data: bytes, kind: type[Exception], cached: bool
) -> None:
    if cached:
        manager.invoke_skill("pdf")
    file.write_bytes(data)
    for attempt in (lambda: manager.invoke_skill("pdf"), lambda: manager.load_skill("pdf").content):
        with pytest.raises(kind) as caught:
            attempt()
        assert str(file) in str(caught.value)
        if isinstance(caught.value, InvalidYAMLError):
            assert (caught.value.line, caught.value.column) == (5, 1)


def test_a_file_that_is_gone_or_no_file_raises(manager: SkillManager, file: Path) -> None:
    file.unlink()
    with pytest.raises(ContentLoadError, match="not found"):
        manager.invoke_skill("pdf")
    os.mkfifo(file)
    with pytest.raises(ContentLoadError, match="Not a regular file"):
        manager.invoke_skill("pdf")
    file.unlink()
    file.mkdir()
    with pytest.raises(ContentLoadError):
        manager.invoke_skill("pdf")


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")]
)
def test_a_file_that_cannot_be_read_raises(
    manager: SkillManager, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    def refuse(_: str) -> int:
        raise error

    monkeypatch.setattr(content, "open_file", refuse)
    with pytest.raises(ContentLoadError, match=r"reading|Input/output"):
        manager.invoke_skill("pdf")


def test_a_file_that_is_too_large_raises(manager: SkillManager, file: Path) -> None:
    with file.open("r+b") as opened:
        opened.truncate(MAX_SKILL_BYTES + 1)
    with pytest.raises(SizeLimitExceededError, match="too large"):
        manager.invoke_skill("pdf")


def test_a_file_that_never_holds_still_raises(
    manager: SkillManager, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_read = os.read

    def growing(descriptor: int, size: int) -> bytes:
        data = real_read(descriptor, size)
        with file.open("a") as opened:
            opened.write("more")
        return data

    monkeypatch.setattr(os, "read", growing)
    with pytest.raises(ContentLoadError, match="keeps changing"):
        manager.invoke_skill("pdf")


def test_a_recovered_skill_is_invoked_as_it_was_found(skills_dir: Path, write_skill) -> None:
    write_skill("guess", "Body", header="name: guess\ndescription: a: b")
    (skills_dir / "bare").mkdir()
    (skills_dir / "bare" / "SKILL.md").write_text("# Title\n\nText $ARGUMENTS")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="", offer_recovered=True)
    manager.discover()
    assert body(manager.invoke_skill("guess")) == "Body"
    assert body(manager.invoke_skill("bare", "x")) == "# Title\n\nText x"
    assert body(manager.load_skill("bare").invoke("x")) == "# Title\n\nText x"


def test_an_unknown_skill_is_not_found(manager: SkillManager) -> None:
    for call in (manager.get_skill, manager.load_skill, manager.invoke_skill, manager.list_resources):
        with pytest.raises(SkillNotFoundError, match="Did you mean 'pdf'"):
            call("pfd")


# Tier 3


async def test_resources_by_every_road(manager: SkillManager, file: Path) -> None:
    (file.parent / "docs").mkdir()
    (file.parent / "docs" / "guide.md").write_text("Guide")
    assert [resource.path for resource in manager.list_resources("pdf")] == ["docs/guide.md"]
    assert await manager.alist_resources("pdf") == manager.list_resources("pdf")
    page = manager.read_resource("pdf", "docs/guide.md", 1, 3)
    assert (page.text, page.next_offset, page.size) == ("uid", 4, 5)
    assert await manager.aread_resource("pdf", "docs/guide.md", 1, 3) == page
    assert str(manager.read_resource("pdf", "SKILL.md").text).endswith("Read $ARGUMENTS now.\n")
    with pytest.raises(PathSecurityError):
        await manager.aread_resource("pdf", "../x")


def test_every_session_has_its_own_id_in_the_text(skills_dir: Path, write_skill) -> None:
    write_skill("log", "Session ${CLAUDE_SESSION_ID} of $who in ${CLAUDE_PROJECT_DIR}.", arguments="[who]")
    manager = SkillManager(project_skill_dir=skills_dir, anthropic_config_dir="")
    manager.discover()
    ends = [manager.invoke_skill("log", "me", session_id=session) for session in ("one", "two")]
    project = manager.project_dir
    assert [body(text).partition("\n")[0] for text in ends] == [
        f"Session {session} of me in {project}." for session in ("one", "two")
    ]
    assert manager.load_skill("log").invoke("me") == manager.invoke_skill("log", "me")


def test_a_file_that_another_one_replaces_while_it_is_read_was_read_whole(
    manager: SkillManager, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often: only its name is gone, and no attempt is lost."""
    real_read = content.read_up_to

    def replaced(descriptor: int, size: int) -> bytes:
        data = real_read(descriptor, size)
        other = file.with_name("other.tmp")
        other.write_text(HEADER + "next")
        os.replace(other, file)
        return data

    file.write_text(HEADER + "first")
    manager.invoke_skill("pdf")
    file.write_text(HEADER + "second")
    monkeypatch.setattr(content, "read_up_to", replaced)
    assert body(manager.invoke_skill("pdf")) == "second"
    monkeypatch.undo()
    assert body(manager.invoke_skill("pdf")) == "next"
