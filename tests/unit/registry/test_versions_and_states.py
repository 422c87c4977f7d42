"""Names, numbers, states, holds and moving, without a server."""

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from registering import Workshop, packed, skill_files

from skillkit.core.exceptions import StateFileError
from skillkit.registry.access import ANYBODY, OPERATOR, Purpose
from skillkit.registry.checks import NEIGHBOUR_CASES, OWN_CASES
from skillkit.registry.exceptions import (
    ConflictError,
    ForbiddenError,
    MissingError,
    RegistryServerError,
    TooLargeError,
)
from skillkit.registry.moving import export, import_export, import_source, remove_orphans, verify
from skillkit.registry.names import Version, fold, header_version, next_patch
from skillkit.registry.publishing import Publisher
from skillkit.registry.repository import MAIN, OwnerRepository
from skillkit.registry.schema import MIGRATIONS, Migration
from skillkit.registry.sqlite import open_database


def test_owners_that_could_be_taken_for_one_another_are_refused(tmp_path: Path) -> None:
    registry = Workshop(tmp_path).registry
    registry.add_owner("acme-tools", OPERATOR)
    for name in ("Acme-Tools", "acme.tools", "acme_tools", "acmet00ls"):
        with pytest.raises(ConflictError):
            registry.add_owner(name, OPERATOR)
    for name in ("api", "review", "a/b", "-a", "", "a" * 40):
        with pytest.raises(RegistryServerError):
            registry.add_owner(name, OPERATOR)
    assert fold("\u0430cme") == fold("acme")


def test_numbers() -> None:
    assert header_version("1.0") == "1.0.0"
    assert header_version("2") == "2.0.0"
    assert header_version("1.2.3-rc.1") == "1.2.3-rc.1"
    assert header_version("new") == ""
    assert next_patch([]) == "1.0.0"
    assert next_patch(["1.9.0", "1.10.0"]) == "1.10.1"
    assert header_version("1.1.0-01") == ""
    ordered = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0", "1.0.10"]
    assert all(Version.parse(low) < Version.parse(high) for low, high in pairwise(ordered))


def test_the_header_or_the_next_patch_gives_the_number(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    token = workshop.token()
    files = skill_files("demo")
    headed = {"SKILL.md": files["SKILL.md"].replace("name: demo", 'name: demo\nversion: "1.0"')}
    assert workshop.publish(token, headed).version.number == "1.0.0"
    assert workshop.publish(token, skill_files("demo", "two")).version.number == "1.0.1"
    assert workshop.publish(token, headed).existed
    assert workshop.publish(token, skill_files("demo", "two")).existed  # sent again after a lost answer
    with pytest.raises(ConflictError, match=r"1\.0\.2"):
        workshop.publish(token, skill_files("demo", "three"), "1.0.0")


def test_a_first_version_and_a_grown_card_are_held_and_nobody_approves_their_own(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, hold=("new", "grown"))
    token = workshop.token("ada", "acme", "publish", "review")
    ada = workshop.caller(token)
    assert workshop.publish(token, skill_files("demo"), "1.0.0").version.state.value == "held"
    skill = workshop.registry.skill(ada, "demo", "acme")
    with pytest.raises(ForbiddenError):
        workshop.registry.change(ada, skill, "1.0.0", "approve")
    workshop.change("acme/demo@1.0.0", "approve")
    assert workshop.publish(token, skill_files("demo", "two"), "1.0.1").version.state.value == "published"
    grown = workshop.publish(token, skill_files("demo", scripts__a_py="print(1)\n"), "1.0.2")
    assert (grown.version.state.value, "scripts/a.py" in grown.version.reason) == ("held", True)
    assert grown.difference
    workshop.change("acme/demo@1.0.2", "refuse", "no")
    with pytest.raises(ConflictError):
        workshop.change("acme/demo@1.0.2", "approve")
    events = [row["action"] for row in workshop.registry.events(OPERATOR)]
    assert events[:3] == ["refused", "held", "published"]
    with pytest.raises(Exception, match="events are kept"), workshop.registry.database.writing() as database:
        database.run("DELETE FROM event")


@pytest.mark.parametrize(("hold", "action"), [(("new", "grown"), "refuse"), (("grown",), "block")])
def test_what_follows_a_refused_or_blocked_version_is_held_for_all_that_it_may_do(
    tmp_path: Path, hold: tuple[str, ...], action: str
) -> None:
    workshop = Workshop(tmp_path, hold=hold)
    token = workshop.token()
    workshop.publish(token, skill_files("demo"), "1.0.0")
    workshop.change("acme/demo@1.0.0", action, "harmful")
    workshop.publish(token, skill_files("other"), "1.0.0")
    if "new" in hold:
        workshop.change("acme/other@1.0.0", "approve")
    grown = workshop.publish(token, skill_files("demo", scripts__a_py="print(1)\n"), "1.0.1").version
    assert (grown.state.value, "scripts/a.py" in grown.reason) == ("held", True)


def test_only_the_owner_lists_a_yanked_version_again(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    token = workshop.token()
    workshop.publish(token, skill_files("demo"), "1.0.0")
    workshop.change("acme/demo@1.0.0", "yank")
    reviewer = workshop.caller(workshop.token("rose", "", "review"))
    skill = workshop.registry.skill(reviewer, "demo", "acme")
    with pytest.raises(ForbiddenError):
        workshop.registry.change(reviewer, skill, "1.0.0", "unyank")
    changed = workshop.registry.change(workshop.caller(token), skill, "1.0.0", "unyank")
    assert changed.state.value == "published"


def test_unblocking_restores_the_state_before(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    workshop.publish(workshop.token(), skill_files("demo"))
    registry = workshop.registry
    skill = registry.skill(OPERATOR, "demo", "acme", Purpose.SEE)
    for before, action in (("published", "block"), ("yanked", "yank")):
        registry.change(OPERATOR, skill, "1.0.0", action, "leaks a key")
        if action == "yank":
            registry.change(OPERATOR, skill, "1.0.0", "block", "leaks a key")
        assert registry.change(OPERATOR, skill, "1.0.0", "unblock").state.value == before


def test_a_version_that_is_yanked_while_a_list_is_made_is_left_out_of_it(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    token = workshop.token()
    for name in ("first", "second"):
        workshop.publish(token, skill_files(name), "1.0.0")
    skills = workshop.registry.skills_of(ANYBODY, "acme")
    workshop.change("acme/first@1.0.0", "yank")
    assert [skill.name for skill, _ in workshop.registry.latest(ANYBODY, skills)] == ["second"]


def test_commits_of_an_owner_never_change_and_packs_are_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop = Workshop(tmp_path)
    token = workshop.token()
    read: list[str] = []
    get = workshop.registry.blobs.get
    workshop.registry.blobs.get = lambda name: read.append(name) or get(name)  # type: ignore[method-assign]

    def refs() -> dict[str, str]:
        return dict(_repository(workshop).refs())

    workshop.publish(token, skill_files("demo", description="The first."), "1.0.0")
    first = refs()
    workshop.publish(token, skill_files("demo", description="The second."), "1.1.0")
    second = refs()
    assert read == []
    assert second["refs/tags/demo-v1.0.0"] == first["refs/tags/demo-v1.0.0"]
    assert second[MAIN] != first[MAIN]
    packs = {_repository(workshop).pack(frozenset(second.values())) for _ in range(2)}
    assert (len(packs), next(iter(packs))[:4]) == (1, b"PACK")
    read.clear()
    assert (refs(), _repository(workshop).pack(frozenset(second.values()))) == (second, packs.pop())
    assert read == []
    monkeypatch.setattr("skillkit.registry.repository.PACK_BYTES", 10)
    with pytest.raises(TooLargeError):
        _repository(workshop).pack(frozenset([second[MAIN]]))
    assert read == []
    workshop.change("acme/demo@1.1.0", "block")
    assert refs() == first
    with pytest.raises(MissingError, match="not our ref"):
        _repository(workshop).pack(frozenset(second.values()))


def _repository(workshop: Workshop) -> OwnerRepository:
    return OwnerRepository(workshop.registry, workshop.server.git, ANYBODY, "acme")


def test_routing_says_which_cases_are_won_and_which_would_be_taken(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    token = workshop.token()
    asked = "merge all my invoices into one file"
    cases = json.dumps([{"query": asked, "should_trigger": True}])
    described = "Work with invoices: sort, rename and merge invoices into a file."
    first = {**skill_files("office", description=described), "evals/evals.json": cases}
    own = workshop.publish(token, first, "1.0.0").version.checks["routing"]["own"]
    assert [(case["won"], case["winner"]) for case in own] == [(True, "acme/office")]
    better = "Merge all invoices into one file."
    taker = workshop.publish(token, skill_files("merge-invoices", description=better), "1.0.0").version
    assert taker.checks["routing"]["taken"] == [{"skill": "acme/office", "request": asked}]
    assert taker.checks["routing"]["nearest"] == ["acme/office"]
    assert taker.checks["routing"]["untried"] == 0
    many = json.dumps([{"query": f"{asked} {n}", "should_trigger": True} for n in range(OWN_CASES + 3)])
    workshop.publish(token, {**first, "evals/evals.json": many}, "1.1.0")
    last = workshop.publish(token, skill_files("sort-invoices", description=better), "1.0.0").version
    assert last.checks["routing"]["untried"] == OWN_CASES - NEIGHBOUR_CASES
    shown = workshop.client().get("/acme/office").text
    assert "Not tried: 3 cases." in shown


def test_twenty_publishers_of_one_version_are_one_success_and_nineteen_conflicts(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    token = workshop.token()
    results: list[str] = []
    start = threading.Barrier(20)

    def run(number: int) -> None:
        start.wait()
        try:
            workshop.publish(token, skill_files("demo", f"text {number}"), "1.0.0")
            results.append("published")
        except ConflictError:
            results.append("conflict")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["conflict"] * 19 + ["published"]
    assert list(verify(workshop.registry)) == []


def test_publishers_without_a_number_get_one_each(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    token = workshop.token()
    start = threading.Barrier(10)

    def run(number: int) -> str:
        start.wait()
        return str(workshop.publish(token, skill_files("demo", f"text {number}")).version.number)

    with ThreadPoolExecutor(10) as pool:
        numbers = set(pool.map(run, range(10)))
    assert numbers == {f"1.0.{patch}" for patch in range(10)}
    assert list(verify(workshop.registry)) == []


def test_a_skill_without_a_name_is_published_under_the_one_that_its_upload_has(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    client = workshop.client(workshop.token())
    content = packed({"SKILL.md": "---\ndescription: Fill in a table.\n---\nDo it.\n"})
    named = client.post("/api/skillkit/v1/acme?skill=tables", content=content)
    assert (named.status_code, named.json()["skill"]) == (201, "tables")
    unnamed = client.post("/api/skillkit/v1/acme", content=content)
    assert (unnamed.status_code, "'name' is missing" in unnamed.json()["reasons"][0]) == (422, True)
    other = client.post("/api/skillkit/v1/acme?skill=other", content=packed(skill_files("demo")))
    assert (other.status_code, other.json()["reasons"]) == (
        422,
        ["The name in SKILL.md is 'demo', not 'other'"],
    )


def test_an_export_gives_the_same_digests_on_an_empty_machine(tmp_path: Path) -> None:
    workshop, other = Workshop(tmp_path / "one"), Workshop(tmp_path / "other")
    token = workshop.token()
    workshop.publish(token, skill_files("demo", scripts__a_py="print(1)\n"), "1.0.0")
    workshop.publish(token, skill_files("demo", "two"), "1.1.0")
    workshop.change("acme/demo@1.1.0", "yank")
    rows, blobs = export(workshop.registry, tmp_path / "all.registry")
    assert import_export(other.registry, tmp_path / "all.registry") == (rows, blobs)
    for each in (workshop, other):
        assert list(verify(each.registry)) == []
        skill = each.registry.skill(ANYBODY, "demo")
        assert each.registry.version(ANYBODY, skill, "", Purpose.LIST).number == "1.0.0"
    assert [found.digest for found in _versions(workshop)] == [found.digest for found in _versions(other)]
    assert [found.title for found in other.registry.search(ANYBODY, "demo table")] == ["acme/demo"]
    with pytest.raises(RegistryServerError):
        import_export(other.registry, tmp_path / "all.registry")
    workshop.publish(token, skill_files("another"))  # its rows have ids of their own
    assert (
        other.publish(other.token("ada", "beta"), skill_files("another"), "", "beta").version.number
        == "1.0.0"
    )
    blob = next((tmp_path / "other" / "blobs").glob("??/*"))
    blob.write_bytes(b"changed")
    assert list(verify(other.registry))


def test_a_mirror_follows_by_exports_of_what_is_new(tmp_path: Path) -> None:
    workshop, mirror = Workshop(tmp_path / "one"), Workshop(tmp_path / "mirror")
    token, file = workshop.token(), tmp_path / "mirror.registry"
    workshop.publish(token, skill_files("demo"), "1.0.0")
    export(workshop.registry, file, 0.0)
    assert import_export(mirror.registry, file) == (3, 2)
    begun = max(version.created for version in _versions(workshop)) + 0.000001
    workshop.publish(token, skill_files("demo", "two"), "1.1.0")
    workshop.change("acme/demo@1.0.0", "block", "harmful")
    export(workshop.registry, file, begun)
    mirror.token("mia", "acme", "read")
    assert import_export(mirror.registry, file) == (4, 2)
    assert [(one.number, one.state.value) for one in _versions(mirror)] == [
        ("1.1.0", "published"),
        ("1.0.0", "blocked"),
    ]
    assert [one.digest for one in _versions(mirror)] == [one.digest for one in _versions(workshop)]
    assert list(verify(mirror.registry)) == []
    assert mirror.server.accounts.caller(token) is None
    assert mirror.registry.events(OPERATOR)[0]["action"] == "mirrored"
    workshop.publish(token, skill_files("demo", "three"), "1.2.0")
    late = max(version.created for version in _versions(workshop)) + 1
    export(workshop.registry, file, late)
    with pytest.raises(RegistryServerError, match="earlier --since"):
        import_export(mirror.registry, file)
    assert [one.number for one in _versions(mirror)] == ["1.1.0", "1.0.0"]
    mirror.publish(mirror.token(), skills := skill_files("own"), "1.0.0")
    workshop.publish(token, {**skills, "a.md": "x"}, "1.0.0")
    export(workshop.registry, file, 0.0)
    with pytest.raises(RegistryServerError, match="rows of its own"):
        import_export(mirror.registry, file)
    other = Workshop(tmp_path / "other")
    other.token("eve", "first")
    other.token("ada", "acme")
    with pytest.raises(RegistryServerError, match="rows of its own"):
        import_export(other.registry, file)


def test_requests_are_measured_by_pattern_and_never_by_a_secret_path(tmp_path: Path) -> None:
    workshop, measured = Workshop(tmp_path), []
    workshop.server.durations = SimpleNamespace(record=lambda seconds, about: measured.append(about))
    workshop.client().get(f"/s/{workshop.token('npx', 'acme', 'path')}/dl/acme/none/1.0.0.tar.gz")
    route = {"http.route": "/dl/{owner}/{skill}/{file}", "http.request.method": "GET"}
    assert measured == [{**route, "http.response.status_code": 404}]


def _versions(workshop: Workshop) -> list:  # type: ignore[type-arg]
    return workshop.registry.versions(OPERATOR, workshop.registry.skill(OPERATOR, "demo"))


def test_a_database_of_a_newer_program_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Workshop(tmp_path).place
    monkeypatch.setattr("skillkit.registry.schema.MIGRATIONS", ())
    with pytest.raises(StateFileError, match="newer"):
        open_database(place)


def test_two_neighbouring_versions_of_the_program_run_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = Workshop(tmp_path)
    token = older.token()
    older.publish(token, skill_files("demo"), "1.0.0")
    added = Migration(
        "ALTER TABLE version ADD COLUMN seal TEXT NOT NULL DEFAULT ''; CREATE TABLE seal (name TEXT)"
    )
    monkeypatch.setattr("skillkit.registry.schema.MIGRATIONS", (*MIGRATIONS, added))
    newer = Workshop(tmp_path, place=older.place)
    assert "seal" in newer.registry.database.columns("version")
    newer.publish(token, skill_files("demo", "two"), "1.1.0")
    older.publish(token, skill_files("demo", "three"), "1.2.0")
    for each in (older, newer):
        assert [found.number for found in _versions(each)] == ["1.2.0", "1.1.0", "1.0.0"]
        assert each.client().get("/acme/demo").status_code == 200


def test_orphans_are_removed_and_what_a_version_has_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop = Workshop(tmp_path)
    token = workshop.token()
    workshop.publish(token, skill_files("demo"), "1.0.0")
    blobs = workshop.registry.blobs
    kept, orphan = set(blobs.names()), blobs.put(b"of an upload that was killed")
    assert set(blobs.names()) == {*kept, orphan}
    for name, seconds in (("old", 0), ("new", time.time())):
        unfinished = tmp_path / "blobs" / orphan[:2] / f".{orphan}.{name}"
        unfinished.write_text("of a writer that was killed, or still writes")
        os.utime(unfinished, (seconds, seconds))
    assert remove_orphans(workshop.registry) == 2
    assert [path.name for path in (tmp_path / "blobs").glob("??/.*")] == [f".{orphan}.new"]
    assert set(blobs.names()) == kept

    publisher = workshop.server.publisher
    existing, asked = publisher._existing, []

    def removed_before_the_transaction(*given: object) -> object:
        asked.append(given)
        if len(asked) == 2:
            for name in set(blobs.names()) - kept:
                blobs.remove(name)
        return existing(*given)

    monkeypatch.setattr(publisher, "_existing", removed_before_the_transaction)
    workshop.publish(token, skill_files("demo", "two"), "1.1.0")
    assert list(verify(workshop.registry)) == []
    assert remove_orphans(workshop.registry) == 0


def test_a_source_is_imported_held_like_an_upload(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path / "registry", hold=("new", "grown"))
    workshop.registry.add_owner("acme", OPERATOR)
    for name in ("one", "two"):
        folder = tmp_path / "skills" / name
        folder.mkdir(parents=True)
        text = skill_files(name)["SKILL.md"]  # the name of the second is that of its folder
        (folder / "SKILL.md").write_text(text.replace("name: two\n", ""))
    done, left_out = import_source(Publisher(workshop.registry), "acme", str(tmp_path / "skills"))
    assert [(each.title, each.version.state.value) for each in done] == [
        ("acme/one@1.0.0", "held"),
        ("acme/two@1.0.0", "held"),
    ]
    assert left_out == []
    workshop.change("acme/one@1.0.0", "approve")
    with pytest.raises(MissingError, match="agent registry owner add nobody"):
        import_source(Publisher(workshop.registry), "nobody", str(tmp_path / "skills"))
    lenient = Workshop(tmp_path / "lenient")
    lenient.registry.add_owner("acme", OPERATOR)
    done, _ = import_source(Publisher(lenient.registry), "acme", str(tmp_path / "skills"))
    assert [each.version.state.value for each in done] == ["published", "published"]
