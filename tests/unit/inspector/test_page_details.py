"""Pages show what would be sent and what was recorded, in the words of the program."""

import re
import time
from html import unescape
from pathlib import Path

import pytest
from program import clean_environment, run_here

from skillkit.inspector.library import Library
from skillkit.inspector.pages import conversations, home, request, skill, skills, tests
from skillkit.inspector.pages.events import summary
from skillkit.install.consents import Consent, ConsentFile, ConsentKind
from skillkit.install.enabled import EnabledSkills
from skillkit.install.selection import Selection, change_selection
from skillkit.journal import Event, Kind, SqliteJournal
from skillkit.web.charts import Column, columns
from skillkit.web.html import tag

DIGEST = "d" * 64


@pytest.fixture
def library(own_home: Path, write_skill, skills_dir: Path) -> Library:
    """Two active skills, of which one came to a request that was not kept."""
    poster = write_skill("poster", "Draw it.", description="Design a poster. Use for posters and flyers.")
    (poster / "sizes.md").write_text("A2")
    write_skill("report", description="Write a report.")
    path = own_home / ".agent" / "journal.sqlite"
    journal = SqliteJournal(path)
    matched = {"request": {"length": 9}, "matched": [{"id": "poster", "score": 0.9, "reasons": []}]}
    for event in (
        Event(Kind.MATCHED, data=matched, conversation="talk", turn=1),
        Event(Kind.ACTIVATED, "poster", DIGEST, {"origin": "matched", "tokens": 9}, "talk", 1),
        Event(Kind.ACTIVATED, "poster", DIGEST, {"origin": "loaded", "tokens": 9}, "talk", 2),
        Event(Kind.LOADED, "poster", DIGEST, {"origin": "model"}, "talk", 2),
    ):
        journal.record(event)
    journal.close()
    return settled(
        Library(
            lambda: EnabledSkills(search=[skills_dir], bundled=False, selection=Selection("all-untrusted")),
            path,
        )
    )


@pytest.fixture
def project(own_home: Path, tmp_path: Path, write_skill, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A skill in a project folder, which is neither enabled nor trusted."""
    write_skill("poster", description="Design a poster.", into=tmp_path / "skills")
    monkeypatch.chdir(tmp_path)
    return Library(lambda: EnabledSkills(bundled=False), own_home / ".agent" / "journal.sqlite", manage=True)


def settled(library: Library) -> Library:
    while library.costs() is None or library.usage() is None:
        time.sleep(0)
    return library


def test_a_skill_is_shown_as_a_request_gets_it(library: Library) -> None:
    [sent] = library.provider().disclose("Design a poster and a flyer").insertions
    [shown] = re.findall('<pre class="skills"[^>]*>(.*?)</pre>', skill.show(library, "poster"), re.DOTALL)
    marks = re.compile("[0-9a-f]{16}")  # new in each conversation
    assert marks.sub("", unescape(shown)) == marks.sub("", sent.text)
    assert "<resource>sizes.md</resource>" in sent.text


def test_a_conversation_without_texts_is_called_by_its_time_and_skills_on_its_own_page(
    library: Library,
) -> None:
    [listed] = library.journal.conversations()
    made = conversations.show_one(library, "talk", {})
    heading = f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(listed.first))} · poster"
    assert f"<h1>{heading}</h1>" in made
    assert f'<a href="/conversation/talk">{heading}</a>' in conversations.show(library, {})


def test_never_used_is_said_of_active_skills_only(library: Library) -> None:
    assert "1 active skill that no request has used:" in home.show(library)
    assert "report" in skills.show(library, {"which": "unused", "part": "result"})
    change_selection(library.enabled.registry, lambda chosen: chosen.with_names(["poster"]))
    library._find = lambda: EnabledSkills(search=[library.manager.get_skill("poster").base_dir.parent])
    library.look_again()
    settled(library)
    assert library.snapshot().checks.wait(60)
    assert "report" not in skills.show(library, {"which": "unused", "part": "result"})


def test_the_reason_and_the_remedy_agree(project: Library) -> None:
    status = project.status("poster")
    assert status.refusal is not None
    assert (status.refusal.code, status.refusal.remedy) == ("disabled", "agent skill trust poster")
    made = skill.show(project, "poster")
    assert ">not trusted<" in made
    assert ">not enabled<" not in made
    assert '<a href="/manage/trust/poster">Trust</a>' in made
    assert "<code>agent skill trust poster" not in made
    digest = status.trust.digest
    assert digest
    ConsentFile(project.enabled.registry.home).grant(Consent(ConsentKind.USE, digest, "poster"))
    project.look_again()
    made = skill.show(project, "poster")
    assert ">not enabled<" in made
    assert '<a href="/manage/enable/poster">Enable</a>' in made
    assert "approved by you" in made


def test_a_transcript_has_two_decimals_and_arguments_as_json() -> None:
    call = {"name": "load_skill", "arguments": {"skill_id": "pdf"}, "result": "…"}
    found = {"skill": "pdf", "score": 0.6712345678901234, "reasons": ["keyword “pdf”", "word a"]}
    assert tests._transcript({"found": [found], "with": [{"calls": [call]}]}).splitlines() == [
        "pdf 0.67: keyword “pdf”, word a",
        "",
        "with the skill, run 1",
        '→ load_skill {"skill_id": "pdf"}',
        "…",
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"wanted": "loaded", "error": "untrusted"}, "its instructions and was refused: it was not trusted"),
        ({"wanted": "read", "error": "not_found"}, "a file and was refused: no skill has this name"),
        ({"wanted": "read"}, "a file and was refused"),
    ],
)
def test_a_refusal_has_its_reason(data: dict, words: str) -> None:
    said = tag("p", summary(Event(Kind.REFUSED, "pdf", data=data)))
    assert said.replace('<span class="badge bad">', "").replace("</span>", "").endswith(f"for {words}</p>")


@pytest.mark.parametrize(
    ("query", "head", "reversal"),
    [
        ({}, 'aria-sort="ascending"><a href="/skills?reverse=1">Skill', "report"),
        ({"reverse": "1"}, 'aria-sort="descending"><a href="/skills">Skill', "poster"),
        (
            {"order": "uses"},
            'aria-sort="descending"><a href="/skills?order=uses&amp;reverse=1">Uses',
            "report",
        ),
    ],
)
def test_a_head_says_its_order_and_leads_to_the_other_way_round(
    library: Library, query: dict[str, str], head: str, reversal: str
) -> None:
    made = skills.show(library, {**query, "part": "result"})
    assert head in made
    rows = made.split("<tbody>")[1].split("<tr>")[1:]
    assert f'href="/skill/{reversal}"' in rows[1]


def test_a_skill_to_try_that_does_not_exist_is_named(library: Library) -> None:
    made = request.show(library, {"q": "Design a poster", "active": "nobody"})
    assert "What if: no skill is called “nobody”." in made
    assert "nothing changes" not in made
    assert '<option value="poster">' in made
    assert "Not in the table: 1 skill with score 0." in made


def test_uses_by_day_are_named_and_a_load_counts_once(library: Library) -> None:
    made = skill.show(library, "poster")
    assert ", requests: 1 events" in made
    assert ", loaded: 1 events" in made
    assert "came with a request" in made


def test_versions_are_called_as_their_headers_call_them(own_home: Path, tmp_path: Path, write_skill) -> None:
    for version, command in (("1.1.0", ("add", "./poster")), ("1.2.0", ("update", "poster"))):
        write_skill("poster", description="Design a poster.", version=version, into=tmp_path)
        environment = clean_environment(own_home)
        ran = run_here("skill", *command, "--trusted", "--yes", cwd=tmp_path, environment=environment)
        assert ran.returncode == 0, ran.stderr
    library = Library(lambda: EnabledSkills(bundled=False), own_home / ".agent" / "journal.sqlite")
    made = re.sub("<time[^>]*>[^<]*</time>", "TIME", skill.show(library, "poster"))
    assert "<summary>1.1.0 (TIME) → 1.2.0 (TIME)</summary>" in made


def test_a_scale_has_whole_figures_and_columns_their_labels() -> None:
    made = str(columns([Column("poster, 1 Jan", (("passed", 9.0),), "/test/1", "1 Jan")], "Tests", "cases"))
    assert ">4</text>" in made
    assert "4.50" not in made
    assert ">1 Jan</text>" in made
    assert "<title>poster, 1 Jan, passed: 9 cases</title>" in made
