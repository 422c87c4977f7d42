"""What `apm` asks for, as it was captured, and its protocol as a source of ours."""

import base64
import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest
from registering import Workshop, skill_files

from skillkit.install.exceptions import SourceError
from skillkit.install.semver import highest
from skillkit.install.sources import download as downloading
from skillkit.install.sources.apm import ApmSource
from skillkit.install.sources.kinds import parse_source
from skillkit.install.sources.source import Access
from skillkit.install.tree import SkillTree, TreeLimits

PACKAGE = "/apm/v1/packages/acme/pdf-forms/versions"


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    token = made.token()
    for version in ("1.0.0", "1.1.0", "2.0.0"):
        made.publish(token, skill_files("pdf-forms", f"text of {version}"), version)
    return made


def package(name: str, text: str = "Do it.") -> bytes:
    """What `apm publish` sends."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("apm.yml", f"name: {name}\n")
        archive.writestr(f".apm/skills/{name}/SKILL.md", skill_files(name, text)["SKILL.md"])
    return packed.getvalue()


def test_versions_have_digests_of_archives_and_yanked_ones_are_left_out(workshop: Workshop) -> None:
    client = workshop.client()
    workshop.change("acme/pdf-forms@2.0.0", "yank")
    listed = client.get(PACKAGE).json()
    assert listed["package"] == "acme/pdf-forms"
    assert [each["version"] for each in listed["versions"]] == ["1.1.0", "1.0.0"]
    assert all(each["published_at"].endswith("Z") for each in listed["versions"])
    archive = client.get(f"{PACKAGE}/1.1.0/download")
    assert listed["versions"][0]["digest"] == f"sha256:{hashlib.sha256(archive.content).hexdigest()}"
    assert client.get(f"{PACKAGE}/2.0.0/download").status_code == 200  # a lock names it
    missing = client.get("/apm/v1/packages/acme/none/versions")
    assert missing.headers["content-type"] == "application/problem+json"
    assert (missing.status_code, missing.json()["detail"]) == (404, "Not found")


def test_a_package_is_published_once(workshop: Workshop) -> None:
    address, token = "/apm/v1/packages/acme/new-skill/versions/0.1.0", workshop.token()
    assert workshop.client().put(address, content=package("new-skill")).status_code == 401
    client = workshop.client(token)
    answer = client.put(address, content=package("new-skill"))
    assert (answer.status_code, answer.json()["package"]) == (201, "acme/new-skill")
    assert client.put(address, content=package("new-skill")).status_code == 200
    changed = client.put(address, content=package("new-skill", "Do something else."))
    assert (changed.status_code, changed.json()["title"]) == (409, "Conflict")
    password = base64.b64encode(f"ada:{token}".encode()).decode()
    basic = workshop.client()
    basic.headers["authorization"] = f"Basic {password}"
    assert basic.put("/apm/v1/packages/acme/b/versions/1.0.0", content=package("b")).status_code == 201
    assert client.put("/apm/v1/packages/other/b/versions/1.0.0", content=package("b")).status_code == 403
    assert client.put(address, content=package("other-name")).status_code == 422


def test_a_held_package_has_no_time_of_publication(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, hold=("new",))
    address = "/apm/v1/packages/acme/new-skill/versions/0.1.0"
    answer = workshop.client(workshop.token()).put(address, content=package("new-skill"))
    assert (answer.status_code, answer.json().keys()) == (202, {"package", "version", "digest"})


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("^1.0.0", "1.10.0"),
        ("^1.0", "1.10.0"),
        ("~1.2.0", "1.2.9"),
        ("~1", "1.10.0"),
        ("1.2.x", "1.2.9"),
        ("1", "1.10.0"),
        ("*", "2.0.0"),
        (">=1.2.0 <1.10.0", "1.2.9"),
        ("> 1.2", "2.0.0"),
        ("<=1.2", "1.2.9"),
        ("<1.2", "0.3.1"),
        ("^0.2.3", "0.2.4"),
        ("^0.0.3", None),
        ("1.2.0 - 1.2", "1.2.9"),
        ("^3.0.0 || ~0.3.0", "0.3.1"),
        ("^2.1.0-rc.1", "2.1.0-rc.2"),
        ("2.1.0-rc.1", "2.1.0-rc.1"),
        (">=9", None),
    ],
)
def test_ranges_are_those_of_npm(wanted: str, expected: str | None) -> None:
    versions = ["0.2.4", "0.3.1", "1.2.3", "1.2.9", "1.10.0", "2.0.0", "2.1.0-rc.1", "2.1.0-rc.2", "odd"]
    assert highest(wanted, versions) == expected


@pytest.mark.parametrize("wanted", ["latest", "^^1", "1.2.3.4", "=>1", "^1.0.0 oops", "1.1.0-01"])
def test_what_is_no_range_is_refused(wanted: str) -> None:
    with pytest.raises(ValueError, match="is not a range"):
        highest(wanted, ["1.0.0"])


def test_our_client_takes_the_highest_that_fits_and_checks_its_digest(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, damaged = workshop.client(), []

    def get(url: str, _: Access) -> bytes:
        content = client.get(url.removeprefix("http://127.0.0.1:1")).content
        return content + b"x" if damaged and url.endswith("/download") else content

    monkeypatch.setattr(downloading, "download", get)
    source = parse_source("apm:acme/pdf-forms@^1.0.0#http://127.0.0.1:1/apm")
    assert isinstance(source, ApmSource)
    with source.open(Access()) as opened:
        assert opened.revision == "1.1.0"
        tree = opened.read([""], TreeLimits())[0]
        assert isinstance(tree, SkillTree)
        assert b"text of 1.1.0" in tree.skill_file
    with pytest.raises(SourceError, match="no version matching"), source.at("^3.0.0").open(Access()):
        pass
    damaged.append(True)
    with source.open(Access()) as opened:
        assert isinstance(opened.read([""], TreeLimits())[0], SourceError)
    with pytest.raises(SourceError, match="is not a range"):
        source.at("not a range")
    assert json.loads(json.dumps(source.to_data()))["range"] == "^1.0.0"
