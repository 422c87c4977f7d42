"""Held, refused, yanked, blocked and private versions, asked for in every dialect by somebody who may not."""

import json
from pathlib import Path

import pytest
from registering import Workshop, packed, skill_files

from skillkit.registry.access import ANYBODY, OPERATOR, SCOPES, Caller, Grant
from skillkit.registry.exceptions import RejectedError
from skillkit.registry.publishing import Publisher
from skillkit.registry.store import Registry

INDEX = ".well-known/agent-skills/index.json"
ADDRESSES = (
    f"/acme/{INDEX}",
    f"/acme/hidden/{INDEX}",
    f"/acme/hidden@hidden/{INDEX}",
    f"/acme/hidden/1.0.0/{INDEX}",
    "/dl/acme/hidden/1.0.0.tar.gz",
    "/api/v1/skills/hidden",
    "/api/v1/skills/hidden?ownerHandle=acme",
    "/api/v1/skills/hidden/versions?ownerHandle=acme",
    "/api/v1/skills/hidden/versions/1.0.0",
    "/api/v1/skills/hidden/versions/1.0.0?ownerHandle=acme",
    "/api/v1/skills/hidden/file?path=SKILL.md&version=1.0.0&ownerHandle=acme",
    "/api/v1/download?slug=hidden&ownerHandle=acme&version=1.0.0",
    "/api/v1/download?slug=hidden&version=1.0.0",
    "/api/v1/resolve?slug=hidden&ownerHandle=acme&hash=0",
    "/apm/v1/packages/acme/hidden/versions",
    "/apm/v1/packages/acme/hidden/versions/1.0.0/download",
    "/adk/projects/p/locations/l/skills/acme.hidden",
    "/adk/projects/p/locations/l/skills/acme.hidden/revisions/1.0.0",
    "/claude/acme/marketplace.json",
    "/git/acme.git/info/refs?service=git-upload-pack",
    "/acme",
    "/acme/hidden",
    "/acme/hidden/1.0.0",
    "/acme/hidden/compare?from=1.0.0&to=1.0.0",
    "/acme/hidden/1.0.0/files/SKILL.md",
)
BY_EXACT_VERSION = {
    "/apm/v1/packages/acme/hidden/versions/1.0.0/download",
    "/adk/projects/p/locations/l/skills/acme.hidden/revisions/1.0.0",
    f"/acme/hidden/1.0.0/{INDEX}",
    "/dl/acme/hidden/1.0.0.tar.gz",
    "/api/v1/skills/hidden/versions/1.0.0?ownerHandle=acme",
    "/api/v1/skills/hidden/file?path=SKILL.md&version=1.0.0&ownerHandle=acme",
    "/api/v1/download?slug=hidden&ownerHandle=acme&version=1.0.0",
    "/acme/hidden/1.0.0/files/SKILL.md",
}
"""Where a yanked version is still handed out, and a blocked one answered with the reason."""


def _prepared(folder: Path, state: str) -> Workshop:
    hold = ("new",) if state in ("held", "refused") else ()
    made = Workshop(folder, private=state == "private", hold=hold)
    made.publish(made.token(), skill_files("hidden"), "1.0.0")
    actions = {"refused": "refuse", "yanked": "yank", "blocked": "block"}
    if state in actions:
        made.change("acme/hidden@1.0.0", actions[state], "for a reason")
    return made


@pytest.mark.parametrize("state", ["held", "refused", "yanked", "blocked", "private"])
def test_what_may_not_be_seen_is_answered_like_what_does_not_exist(tmp_path: Path, state: str) -> None:
    workshop = _prepared(tmp_path / "there", state)
    nothing = Workshop(tmp_path / "nothing", private=state == "private")
    there, missing = workshop.client(), nothing.client()
    searches = ("/api/search?q=hidden", "/api/v1/search?q=hidden", "/api/v1/skills", "/?q=hidden", "/")
    for address in (*ADDRESSES, *searches):
        found, expected = there.get(address), missing.get(address)
        if state == "yanked" and address in BY_EXACT_VERSION:
            assert found.status_code == 200, address
        elif state == "blocked" and address in {*BY_EXACT_VERSION, "/acme/hidden/1.0.0"}:
            assert (found.status_code, "for a reason" in found.text) == (410, True), address
        else:
            assert (found.status_code, found.text) == (expected.status_code, expected.text), address
    for method, parameters in (
        ("resources/list", {}),
        ("resources/read", {"uri": "skill://hidden/SKILL.md"}),
        ("resources/read", {"uri": "skill://acme.hidden/_manifest"}),
    ):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        for address in ("/mcp", "/mcp/acme"):
            assert there.post(address, json=message).text == missing.post(address, json=message).text, address
    asked = {"search_string": "hidden"}
    search = "/adk/projects/p/locations/l/skills:search"
    assert there.post(search, json=asked).text == missing.post(search, json=asked).text
    eve, nobody = (made.client(made.token("eve", "evil")) for made in (workshop, nothing))
    review = "/acme/hidden/1.0.0/review"
    known = {"yanked": BY_EXACT_VERSION, "blocked": {*BY_EXACT_VERSION, "/acme/hidden/1.0.0", review}}
    for address in {*ADDRESSES, *searches, review} - known.get(state, set()):
        found, expected = eve.get(address), nobody.get(address)
        assert (found.status_code, found.text) == (expected.status_code, expected.text), address
    answer = eve.post("/api/skillkit/v1/acme", content=b"")
    unknown = eve.post("/api/skillkit/v1/nobody", content=b"")
    assert (answer.status_code, answer.text.replace("acme", "nobody")) == (unknown.status_code, unknown.text)


@pytest.mark.parametrize("action", ["yank", "block"])
def test_a_skill_that_was_taken_back_competes_with_nobody_any_more(tmp_path: Path, action: str) -> None:
    workshop = Workshop(tmp_path)
    described = "Merge all invoices into one file."
    workshop.publish(workshop.token("eve", "evil"), skill_files("hidden", "", described), "1.0.0", "evil")
    workshop.publish(workshop.token(), skill_files("demo", "", described), "1.0.0")
    assert "evil/hidden" in workshop.client().get("/acme/demo").text
    workshop.change("evil/hidden@1.0.0", action)
    assert "evil" not in workshop.client().get("/acme/demo").text


def test_the_routing_of_a_private_server_says_nothing_of_other_owners(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, private=True)
    described = "Merge all invoices into one file."
    case = [{"query": described, "should_trigger": True}]
    workshop.publish(workshop.token("eve", "evil"), skill_files("hidden", "", described), "1.0.0", "evil")
    demo = {
        **skill_files("demo", "", "Sort, rename and merge invoices into a file."),
        "evals/evals.json": json.dumps(case),
    }
    token = workshop.token()
    workshop.publish(token, skill_files("office", "", "Print and sort invoices."))
    imported = Publisher(Registry(workshop.registry.database, workshop.registry.blobs), hold=())
    for publisher in (workshop.server.publisher, imported):
        found = publisher.publish_archive(workshop.caller(token), "acme", packed(demo))
        routing = found.version.checks["routing"]
        assert [(case["won"], case["winner"]) for case in routing["own"]] == [(True, "acme/demo")]
        assert routing["nearest"] == ["acme/office"]
        demo["SKILL.md"] += "More.\n"


@pytest.mark.parametrize("private", [False, True])
def test_the_rule_of_who_reads_is_the_same_in_a_search(tmp_path: Path, private: bool) -> None:
    registry = Workshop(tmp_path, private=private).registry
    owners = [registry.add_owner(name, OPERATOR, private=name == "lab") for name in ("acme", "lab")]
    grants = [Grant(scope, owner) for scope in SCOPES for owner in (None, *owners)]
    for caller in (ANYBODY, *(Caller("u", (grant,)) for grant in grants), Caller("u", tuple(grants[1:3]))):
        condition, values = registry.visibility.condition(caller)
        rows = registry.database.rows(f"SELECT id FROM owner WHERE {condition}", *values)
        expected = {
            row["id"]
            for row in registry.owners()
            if registry.visibility.reads(caller, row["id"], bool(row["private"]))
        }
        assert {row["id"] for row in rows} == expected, caller


def test_a_fingerprint_finds_no_version_that_was_taken_back(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    token = workshop.token()
    yanked = workshop.publish(token, skill_files("demo"), "1.0.0").version.fingerprint
    workshop.publish(token, skill_files("demo", "two"), "1.1.0")
    address = f"/api/v1/resolve?slug=demo&ownerHandle=acme&hash={yanked}"
    assert workshop.client().get(address).json()["match"] == {"version": "1.0.0"}
    workshop.change("acme/demo@1.0.0", "yank")
    for client in (workshop.client(), workshop.client(token)):
        assert client.get(address).json()["match"] is None


def test_a_secret_path_only_reads(tmp_path: Path) -> None:
    with pytest.raises(RejectedError, match="no other scope"):
        Workshop(tmp_path).token("npx", "acme", "path", "publish")


def test_the_owner_and_reviewers_see_what_is_held_and_refused(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, hold=("new",))
    token = workshop.token()
    workshop.publish(token, skill_files("hidden"), "1.0.0")
    address = "/api/v1/skills/hidden/versions?ownerHandle=acme"
    reviewer = workshop.token("rose", "", "review")
    for one in (token, reviewer):
        assert workshop.client(one).get(address).json()["items"][0]["version"] == "1.0.0"
        assert workshop.client(one).get("/dl/acme/hidden/1.0.0.tar.gz").status_code == 200
    workshop.change("acme/hidden@1.0.0", "refuse", "no")
    assert workshop.client(token).get(address).json()["items"][0]["version"] == "1.0.0"
    for one in (token, reviewer):
        assert workshop.client(one).get("/dl/acme/hidden/1.0.0.tar.gz").status_code == 404
