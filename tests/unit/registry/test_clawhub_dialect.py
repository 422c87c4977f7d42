"""What `clawhub` asks for, as it was captured, and what it has to be answered with."""

import hashlib
import io
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from registering import BASE, Workshop, packed, skill_files
from starlette.testclient import TestClient

from skillkit.install.exceptions import SourceError
from skillkit.install.sources import download as downloading
from skillkit.install.sources.kinds import parse_source
from skillkit.install.sources.source import Access
from skillkit.registry.access import OPERATOR
from skillkit.registry.accounts import RateLimits
from skillkit.registry.exceptions import MissingError, RejectedError

FILES = {"SKILL.md": skill_files("my-skill")["SKILL.md"], "scripts/a.py": "print(1)\n"}


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    token = made.token()
    made.publish(token, skill_files("pdf-forms", "one", scripts__fill_py="print(1)\n"), "1.0.0")
    made.publish(token, skill_files("pdf-forms", "two"), "1.1.0")
    return made


def tickets(client: TestClient, files: dict[str, str]) -> list[dict[str, Any]]:
    """Upload files as the client does and return what it lists afterwards."""
    listed = []
    for path, text in files.items():
        digest = hashlib.sha256(text.encode()).hexdigest()
        about = {"path": path, "size": len(text), "sha256": digest, "contentType": "text/markdown"}
        granted = client.post("/api/v1/skills/-/upload-url", json=about).json()
        assert granted["uploadUrl"].startswith(f"{BASE}/up/")
        answer = client.post(granted["uploadUrl"], content=text)
        assert answer.json() == {"storageId": digest}
        listed.append({**about, "storageId": digest, "uploadTicket": granted["uploadTicket"]})
    return listed


def publish(client: TestClient, listed: list[dict[str, Any]], version: str, slug: str = "my-skill") -> Any:
    document = {
        "slug": slug,
        "displayName": slug,
        "ownerHandle": "acme",
        "version": version,
        "changelog": "first",
    }
    return client.post(
        "/api/v1/skills", json={**document, "acceptLicenseTerms": True, "tags": ["latest"], "files": listed}
    )


def test_search_explore_and_inspect(workshop: Workshop) -> None:
    client = workshop.client()
    assert client.get("/.well-known/clawhub.json").json() == {"apiBase": BASE, "authBase": BASE}
    (found,) = client.get("/api/v1/search?q=pdf&limit=25").json()["results"]
    assert (found["slug"], found["version"], found["ownerHandle"]) == ("pdf-forms", "1.1.0", "acme")
    (item,) = client.get("/api/v1/skills?limit=25&sort=createdAt").json()["items"]
    assert (item["tags"], item["latestVersion"]["version"]) == ({"latest": "1.1.0"}, "1.1.0")
    skill = client.get("/api/v1/skills/pdf-forms").json()
    assert (skill["owner"]["handle"], skill["latestVersion"]["version"]) == ("acme", "1.1.0")
    versions = client.get("/api/v1/skills/pdf-forms/versions?limit=25").json()["items"]
    assert [each["version"] for each in versions] == ["1.1.0", "1.0.0"]
    version = client.get("/api/v1/skills/pdf-forms/versions/1.0.0?ownerHandle=acme").json()["version"]
    assert [file["path"] for file in version["files"]] == ["SKILL.md", "scripts/fill.py"]
    text = client.get("/api/v1/skills/pdf-forms/file?path=SKILL.md&version=1.1.0")
    assert text.headers["content-type"].startswith("text/plain")
    assert "two" in text.text


def test_install_pinned_and_update(workshop: Workshop) -> None:
    client = workshop.client()
    for version, word in (("1.0.0", "one"), ("1.1.0", "two")):
        answer = client.get(f"/api/v1/download?slug=pdf-forms&ownerHandle=acme&version={version}")
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            text = archive.read("SKILL.md")
        assert word in text.decode()
    old = workshop.registry.version(
        _anybody(), workshop.registry.skill(_anybody(), "pdf-forms"), "1.0.0", _fetch()
    )
    resolved = client.get(f"/api/v1/resolve?slug=pdf-forms&ownerHandle=acme&hash={old.fingerprint}").json()
    assert resolved == {"match": {"version": "1.0.0"}, "latestVersion": {"version": "1.1.0"}}


def test_the_fingerprint_is_the_one_that_the_client_computed() -> None:
    from skillkit.install.tree import SkillTree, TreeFile
    from skillkit.registry.archives import fingerprint

    texts = {
        "SKILL.md": b"---\nname: my-skill\ndescription: A thing.\nversion: 2.0.0\n---\n# My\n",
        "scripts/a.py": b"print(1)\n",
    }
    tree = SkillTree({path: TreeFile(content) for path, content in texts.items()})
    assert fingerprint(tree) == "aad0f5d9b08d4232f4f714b2a7c9bad99464889621cbad64884dac350bc16ba8"


def test_publish_unchanged_conflict_next_and_withdraw(workshop: Workshop) -> None:
    client = workshop.client(workshop.token())
    assert client.get("/api/v1/whoami").json()["user"]["handle"] == "acme"
    missing = client.get("/api/v1/resolve?slug=my-skill&ownerHandle=acme&hash=0")
    assert (missing.status_code, missing.text) == (404, "Skill not found")
    answer = publish(client, tickets(client, FILES), "1.0.0").json()
    assert (answer["publicationStatus"], answer["versionId"]) == ("published", "acme/my-skill@1.0.0")
    assert publish(client, tickets(client, FILES), "1.0.0").status_code == 200  # the same bytes
    changed = {**FILES, "scripts/a.py": "print(2)\n"}
    conflict = publish(client, tickets(client, changed), "1.0.0")
    assert (conflict.status_code, conflict.headers["content-type"]) == (409, "text/plain; charset=utf-8")
    assert "already exists" in conflict.text
    assert publish(client, tickets(client, changed), "1.0.1").status_code == 200
    withdrawn = client.request("DELETE", "/api/v1/skills/my-skill/versions/1.0.1", json={"version": "1.0.1"})
    assert withdrawn.json() == {"ok": True}
    assert client.get("/api/v1/skills/my-skill").json()["latestVersion"]["version"] == "1.0.0"


def test_a_held_version_is_pending_and_not_served(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path / "held", hold=("new", "grown"))
    client = workshop.client(workshop.token())
    assert publish(client, tickets(client, FILES), "1.0.0").json()["publicationStatus"] == "pending"
    stranger = workshop.client()
    assert stranger.get("/api/v1/skills/my-skill").status_code == 404
    assert stranger.get("/api/v1/download?slug=my-skill&ownerHandle=acme&version=1.0.0").status_code == 404
    assert client.get("/api/v1/skills/my-skill").json()["latestVersion"] is None
    workshop.change("acme/my-skill@1.0.0", "approve")
    assert stranger.get("/api/v1/skills/my-skill").json()["latestVersion"]["version"] == "1.0.0"


def test_our_client_says_that_a_skill_has_no_published_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop = Workshop(tmp_path, hold=("new",))
    token = workshop.token()
    workshop.publish(token, FILES, "1.0.0")
    client, base = workshop.client(token), "http://127.0.0.1:1"
    monkeypatch.setattr(downloading, "download", lambda url, _: client.get(url.removeprefix(base)).content)
    source = parse_source(f"clawhub:acme/my-skill#{base}")
    with pytest.raises(SourceError, match="has no published version"), source.open(Access()):
        pass


@pytest.mark.parametrize(("action", "said"), [("refuse", "was refused: why"), ("yank", "was yanked: why")])
def test_the_same_bytes_of_a_version_that_was_taken_back_are_a_conflict(
    tmp_path: Path, action: str, said: str
) -> None:
    workshop = Workshop(tmp_path, hold=("new",) if action == "refuse" else ())
    token = workshop.token()
    client = workshop.client(token)
    workshop.publish(token, FILES, "1.0.0")
    workshop.change("acme/my-skill@1.0.0", action)
    answer = publish(client, tickets(client, FILES), "1.0.0")
    assert (answer.status_code, answer.text) == (409, f"acme/my-skill@1.0.0 {said}")
    by_apm = client.put("/apm/v1/packages/acme/my-skill/versions/1.0.0", content=packed(FILES))
    assert (by_apm.status_code, by_apm.json()["detail"]) == (409, answer.text)
    again = client.post("/api/skillkit/v1/acme?version=1.0.0", content=packed(FILES))
    assert (again.status_code, again.json()["reason"]) == (200, "why")


def test_a_cache_asks_each_time_whether_it_may_still_hand_out_what_it_keeps(workshop: Workshop) -> None:
    address = "/api/v1/download?slug=pdf-forms&ownerHandle=acme&version=1.0.0"
    client, owner = workshop.client(), workshop.client(workshop.token())
    kept = client.get(address).headers
    assert kept["cache-control"] == "public, no-cache"
    assert owner.get(address).headers["cache-control"] == "private, no-cache"
    known = {"if-none-match": kept["etag"]}
    assert client.get(address, headers=known).status_code == 304
    workshop.change("acme/pdf-forms@1.0.0", "block")
    assert client.get(address, headers=known).status_code == 410


def test_downloads_are_counted_unless_nothing_was_sent_or_the_version_is_held(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, hold=("new",))
    token = workshop.token()
    workshop.publish(token, FILES, "1.0.0")
    client = workshop.client(token)
    address = "/api/v1/download?slug=my-skill&ownerHandle=acme&version=1.0.0"
    etag = client.get(address).headers["etag"]
    workshop.change("acme/my-skill@1.0.0", "approve")
    client.get(address, headers={"if-none-match": etag})
    client.get(address)
    workshop.server.write_counts()
    assert client.get("/api/v1/skills/my-skill").json()["skill"]["stats"] == {"downloads": 1}


def test_uploads_of_a_publication_that_was_given_up_are_deleted(workshop: Workshop) -> None:
    client, database = workshop.client(workshop.token()), workshop.registry.database
    tickets(client, FILES)
    with database.writing():
        database.run("UPDATE ticket SET expires = 0")
    workshop.server.write_counts()
    assert database.rows("SELECT * FROM ticket") == []


def test_device_logins_count_as_uploads(tmp_path: Path) -> None:
    client = Workshop(tmp_path, limits=RateLimits(reads=100, uploads=1)).client()
    answers = [client.post("/api/cli/device/code", json={}).status_code for _ in range(2)]
    assert answers == [200, 429]


def test_tickets_are_bound_to_token_path_and_size_and_work_once(workshop: Workshop) -> None:
    client, other = workshop.client(workshop.token()), workshop.client(workshop.token("eve", "evil"))
    digest = hashlib.sha256(b"1234").hexdigest()
    about = {"path": "SKILL.md", "size": 4, "sha256": digest}
    ticket = client.post("/api/v1/skills/-/upload-url", json=about).json()["uploadTicket"]
    assert other.post(f"/up/{ticket}", content="1234").status_code == 404
    assert client.post(f"/up/{ticket}", content="12345").status_code == 422
    assert client.post(f"/up/{ticket}", content="1235").status_code == 422
    assert client.post(f"/up/{ticket}", content="1234").status_code == 200
    assert client.post(f"/up/{ticket}", content="1234").status_code == 422
    listed = [{**about, "path": "other.md", "uploadTicket": ticket}]
    assert publish(client, listed, "1.0.0").status_code == 422
    assert publish(client, [{**about, "uploadTicket": ticket}], "1.0.0").status_code == 404  # it is gone
    assert workshop.client().post("/api/v1/skills/-/upload-url", json=about).status_code == 401
    assert client.post("/api/v1/skills/-/upload-url", json={**about, "size": 1 << 40}).status_code == 422


def test_a_token_of_one_owner_never_touches_anothers(workshop: Workshop) -> None:
    other = workshop.client(workshop.token("eve", "evil"))
    listed = tickets(other, skill_files("pdf-forms", "evil"))
    answers = [publish(other, listed, "9.0.0", "pdf-forms"), publish(other, tickets(other, FILES), "1.0.0")]
    for answer in answers:
        assert answer.status_code == 403
    withdrawn = other.request("DELETE", "/api/v1/skills/pdf-forms/versions/1.0.0?ownerHandle=acme")
    assert withdrawn.status_code == 403
    assert workshop.client().get("/api/v1/skills/pdf-forms/versions/1.0.0").status_code == 200


def test_an_ambiguous_name_names_the_owners_that_are_seen(workshop: Workshop) -> None:
    workshop.publish(workshop.token("eve", "evil"), skill_files("pdf-forms", "evil"), "1.0.0", "evil")
    client = workshop.client()
    answer = client.get("/api/v1/skills/pdf-forms")
    assert answer.status_code == 409
    assert answer.json()["code"] == "AMBIGUOUS_SKILL_SLUG"
    assert [match["ref"] for match in answer.json()["matches"]] == ["@acme/pdf-forms", "@evil/pdf-forms"]
    assert client.get("/api/v1/skills/pdf-forms?ownerHandle=acme").status_code == 200
    workshop.change("evil/pdf-forms@1.0.0", "yank")
    assert client.get("/api/v1/skills/pdf-forms").status_code == 200


def test_device_login_is_pending_until_the_user_approves_it(workshop: Workshop) -> None:
    client = workshop.client()
    begun = client.post("/api/cli/device/code", json={"scope": "read write", "label": "CLI"}).json()
    assert begun["interval"] > 0
    assert begun["expires_in"] > 0
    asked = {
        "device_code": begun["device_code"],
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
    }
    pending = client.post("/api/cli/device/token", json=asked)
    assert (pending.status_code, pending.json()) == (400, {"error": "authorization_pending"})
    database = workshop.registry.database
    with database.writing():
        database.run("UPDATE device SET polled = ?", time.time() + 60)
    hurried = client.post("/api/cli/device/token", json=asked)
    assert (hurried.status_code, hurried.json()["error"]) == (400, "slow_down")
    assert hurried.json()["interval"] > begun["interval"]
    with database.writing():
        database.run("UPDATE device SET polled = 0")
    assert client.post("/api/cli/device/token", json=asked).json() == {"error": "authorization_pending"}
    workshop.server.accounts.answer_device(
        workshop.caller(workshop.token()), begun["user_code"], approve=True
    )
    token = client.post("/api/cli/device/token", json=asked).json()["access_token"]
    assert workshop.client(token).get("/api/v1/whoami").json()["user"]["handle"] == "acme"
    assert workshop.registry.events(OPERATOR)[0]["action"] == "token added"
    assert client.post("/api/cli/device/token", json=asked).json() == {"error": "expired_token"}
    assert client.post("/api/cli/device/token", json={"device_code": "x"}).json() == {
        "error": "expired_token"
    }


def test_a_device_login_that_was_denied_is_approved_by_nobody(workshop: Workshop) -> None:
    accounts, caller = workshop.server.accounts, workshop.caller(workshop.token())
    device, code = accounts.begin_device("CLI")
    accounts.answer_device(caller, code, approve=False)
    with pytest.raises(MissingError):
        accounts.answer_device(caller, code, approve=True)
    with pytest.raises(RejectedError, match="access_denied"):
        accounts.poll_device(device)
    assert workshop.registry.events(OPERATOR)[0]["action"] == "device login denied"


def test_too_many_requests_say_when_to_try_again(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path / "limited", limits=RateLimits(reads=2, uploads=1))
    client = workshop.client()
    answers = [client.get("/api/v1/search?q=x") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[2].headers["retry-after"]) >= 1
    other = workshop.client(workshop.token())
    assert other.get("/api/v1/search?q=x").status_code == 200


def _anybody() -> Any:
    from skillkit.registry.access import ANYBODY

    return ANYBODY


def _fetch() -> Any:
    from skillkit.registry.access import Purpose

    return Purpose.FETCH
