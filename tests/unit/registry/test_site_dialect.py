"""What `npx skills` asks for, as it was captured, and what it has to be answered with."""

import hashlib
from pathlib import Path

import pytest
from registering import BASE, Workshop, skill_files

INDEX = "/.well-known/agent-skills/index.json"
OLDER = "/.well-known/skills/index.json"


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    token = made.token()
    made.publish(token, skill_files("pdf-forms", "one"), "1.0.0")
    made.publish(token, skill_files("pdf-forms", "two"), "1.1.0")
    made.publish(token, skill_files("release-notes"), "0.3.0")
    return made


def test_an_index_lists_an_owner_a_skill_or_a_pinned_version(workshop: Workshop) -> None:
    client = workshop.client()
    owner = client.get(f"/acme{INDEX}").json()
    assert owner["$schema"].endswith("/0.2.0/schema.json")
    assert [(entry["name"], entry["version"]) for entry in owner["skills"]] == [
        ("pdf-forms", "1.1.0"),
        ("release-notes", "0.3.0"),
    ]
    (latest,) = client.get(f"/acme/pdf-forms{INDEX}").json()["skills"]
    (pinned,) = client.get(f"/acme/pdf-forms/1.0.0{INDEX}").json()["skills"]
    assert latest["url"] == "/dl/acme/pdf-forms/1.1.0.tar.gz"
    assert pinned["url"] == "/dl/acme/pdf-forms/1.0.0.tar.gz"
    assert (latest["type"], latest["name"]) == ("archive", "pdf-forms")


def test_an_archive_is_the_same_bytes_each_time_with_the_digest_of_the_index(workshop: Workshop) -> None:
    client = workshop.client()
    (entry,) = client.get(f"/acme/pdf-forms{INDEX}").json()["skills"]
    answers = [client.get(entry["url"]) for _ in range(2)]
    assert answers[0].content == answers[1].content
    assert entry["digest"] == f"sha256:{hashlib.sha256(answers[0].content).hexdigest()}"
    again = client.get(entry["url"], headers={"if-none-match": answers[0].headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_root_and_the_older_addresses_have_no_index(workshop: Workshop) -> None:
    client = workshop.client()
    for path in (
        INDEX,
        OLDER,
        f"/acme{OLDER}",
        f"/acme/pdf-forms{OLDER}",
        f"/acme/nope{INDEX}",
        f"/nobody{INDEX}",
    ):
        assert client.get(path).status_code == 404, path


def test_what_find_prints_installs_when_it_is_pasted(workshop: Workshop) -> None:
    client = workshop.client()
    found = client.get("/api/search?q=pdf&limit=20").json()
    (skill,) = found["skills"]
    assert (found["query"], found["count"]) == ("pdf", 1)
    pasted = f"{skill['source']}@{skill['name']}".removeprefix(BASE)
    assert pasted == "/acme/pdf-forms@pdf-forms"
    for path in (pasted, "/acme@pdf-forms", "/acme/pdf-forms@1.1.0"):
        (entry,) = client.get(f"{path}{INDEX}").json()["skills"]
        assert entry["version"] == "1.1.0", path
    (entry,) = client.get(f"/acme/pdf-forms@1.0.0{INDEX}").json()["skills"]
    assert entry["version"] == "1.0.0"
    for path in ("/acme/pdf-forms@other", "/acme/pdf-forms/1.0.0@x", "/acme/a/b/c"):
        assert client.get(f"{path}{INDEX}").status_code == 404, path


def test_a_secret_path_reads_a_private_server_until_it_is_revoked(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path / "private", private=True)
    token = workshop.token()
    workshop.publish(token, skill_files("pdf-forms"), "1.0.0")
    secret = workshop.token("npx", "", "path")
    client = workshop.client()
    assert client.get(f"/acme/pdf-forms{INDEX}").status_code == 404
    assert client.get("/api/search?q=pdf").json()["count"] == 0
    (entry,) = client.get(f"/s/{secret}/acme/pdf-forms{INDEX}").json()["skills"]
    assert client.get(entry["url"]).status_code == 200
    assert client.get(entry["url"]).headers["cache-control"].startswith("private")
    (found,) = client.get(f"/s/{secret}/api/search?q=pdf").json()["skills"]
    assert found["source"] == f"{BASE}/s/{secret}/acme/pdf-forms"
    assert client.get("/api/v1/whoami", headers={"authorization": f"Bearer {secret}"}).status_code == 401
    assert client.get(f"/s/{token}/acme/pdf-forms{INDEX}").status_code == 404
    (number,) = [row["id"] for row in workshop.server.accounts.tokens(_operator()) if row["user"] == "npx"]
    workshop.server.accounts.revoke(_operator(), number)
    assert client.get(entry["url"]).status_code == 404


def _operator() -> object:
    from skillkit.registry.access import OPERATOR

    return OPERATOR
