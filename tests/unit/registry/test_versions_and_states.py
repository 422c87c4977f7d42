"""Names, numbers, states, holds and moving, without a server."""

import json
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from registering import Workshop, skill_files

from skillkit.core.exceptions import StateFileError
from skillkit.registry.access import ANYBODY, OPERATOR, Purpose
from skillkit.registry.database import Database
from skillkit.registry.exceptions import ConflictError, ForbiddenError, RegistryServerError
from skillkit.registry.moving import export, import_export, import_source, verify
from skillkit.registry.names import Version, fold, header_version, next_patch
from skillkit.registry.publishing import Publisher


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
    blob = next(other.registry.blobs.folder.glob("??/*"))
    blob.write_bytes(b"changed")
    assert len(list(verify(other.registry))) == 1


def _versions(workshop: Workshop) -> list:  # type: ignore[type-arg]
    return workshop.registry.versions(OPERATOR, workshop.registry.skill(OPERATOR, "demo"))


def test_a_database_of_a_newer_program_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "registry.sqlite"
    database = Database(file)
    database.run("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(StateFileError, match="newer"):
        Database(file)


def test_a_source_is_imported_held_like_an_upload(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path / "registry")
    workshop.registry.add_owner("acme", OPERATOR)
    for name in ("one", "two"):
        folder = tmp_path / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(skill_files(name)["SKILL.md"])
    done, left_out = import_source(Publisher(workshop.registry), "acme", str(tmp_path / "skills"))
    assert [(each.title, each.version.state.value) for each in done] == [
        ("acme/one@1.0.0", "held"),
        ("acme/two@1.0.0", "held"),
    ]
    assert left_out == []
    workshop.change("acme/one@1.0.0", "approve")
