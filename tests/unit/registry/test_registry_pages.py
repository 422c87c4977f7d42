"""Pages: what they show, and what a form needs before it changes anything."""

import re
from pathlib import Path

import pytest
from registering import BASE, Workshop, skill_files
from starlette.testclient import TestClient

from skillkit.registry import desk, pages
from skillkit.registry.access import OPERATOR


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path, hold=("grown",))
    token = made.token()
    hostile = "<script>alert(1)</script> [x](javascript:alert(1))"
    made.publish(token, skill_files("demo", hostile, scripts__a_py="<script>\n"), "1.0.0")
    made.publish(token, skill_files("demo", "two", scripts__a_py="x\n", scripts__b_py="y\n"), "1.1.0")
    return made


def sign_in(workshop: Workshop, token: str) -> TestClient:
    client = workshop.client()
    client.headers["origin"] = BASE
    answer = client.post("/login", data={"form": form_of(client, "/login"), "token": token})
    assert answer.status_code == 303
    assert {"HttpOnly", "SameSite=strict"} <= set(answer.headers["set-cookie"].split("; "))
    return client


def form_of(client: TestClient, address: str) -> str:
    found = re.search(r'name="form" value="(\w+)"', client.get(address).text)
    assert found is not None
    return found[1]


def test_health_and_the_icon_that_every_browser_asks_for_are_no_errors(workshop: Workshop) -> None:
    client = workshop.client()
    assert (client.get("/healthz").status_code, client.get("/favicon.ico").status_code) == (200, 204)


def test_a_skill_shows_card_tests_versions_files_and_install_lines(workshop: Workshop) -> None:
    client = workshop.client()
    answer = client.get("/acme/demo")
    for text in (
        "scripts/a.py",
        f"npx skills add {BASE}/acme/demo",
        f"agent skill add {BASE}/acme/demo",
        "{id: acme/demo, version: ^1.0.0, registry: corp}",
        f"git clone --branch demo-v1.0.0 {BASE}/git/acme.git",
        f"{BASE}/mcp/acme",
        "1.0.0",
    ):
        assert text in answer.text, text
    assert "<script>alert" not in answer.text
    assert "1.1.0" not in answer.text
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    file = client.get("/acme/demo/1.0.0/files/scripts/a.py")
    assert (file.text, file.headers["content-type"]) == ("<script>\n", "text/plain; charset=utf-8")
    assert "demo" in client.get("/?q=demo").text
    assert client.get("/acme").status_code == 200


def test_a_reviewer_sees_everything_on_one_screen_and_approves(workshop: Workshop) -> None:
    client = sign_in(workshop, workshop.token("rose", "", "review", "read"))
    assert "acme/demo 1.1.0" in client.get("/review").text
    address = "/acme/demo/1.1.0/review"
    screen = client.get(address).text
    for text in ("scripts/b.py", "Since 1.0.0", "Approve", "added: scripts/b.py"):
        assert text in screen, text
    done = client.post(address, data={"form": form_of(client, address), "action": "approve"})
    assert done.status_code == 303
    assert "1.1.0" in workshop.client().get("/acme/demo").text
    assert "approved" in client.get("/events").text
    assert "rose" in client.get("/tokens").text


def test_a_reviewer_sees_what_the_scripts_of_a_first_version_hold(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, hold=("new",))
    workshop.publish(workshop.token(), skill_files("demo", scripts__a_py="print(42)\n"), "1.0.0")
    client = sign_in(workshop, workshop.token("rose", "", "review"))
    screen = client.get("/acme/demo/1.0.0/review").text
    assert "+print(42)" in screen


def test_nobody_sees_the_files_of_what_was_refused_or_blocked(workshop: Workshop) -> None:
    rose = sign_in(workshop, workshop.token("rose", "", "review"))
    compared = "/acme/demo/compare?from=1.0.0&to=1.1.0"
    assert rose.get(compared).status_code == 200
    assert "compare?" in rose.get("/acme/demo").text
    workshop.change("acme/demo@1.1.0", "refuse")
    for client in (rose, sign_in(workshop, workshop.token("ada"))):
        assert client.get(compared).status_code == 404
        assert "compare?" not in client.get("/acme/demo").text


def test_a_change_needs_the_form_of_this_user_from_this_site(workshop: Workshop) -> None:
    rose = sign_in(workshop, workshop.token("rose", "", "review", "read"))
    address = "/acme/demo/1.1.0/review"
    form = form_of(rose, address)
    data = {"form": form, "action": "approve"}
    assert rose.post(address, data={"action": "approve"}).status_code == 403
    assert rose.post(address, data=data, headers={"origin": "https://evil.example"}).status_code == 403
    del rose.headers["origin"]
    assert rose.post(address, data=data).status_code == 403
    ada = sign_in(workshop, workshop.token("ada"))
    assert ada.post(address, data=data).status_code == 403
    assert ada.post(address, data={**data, "form": form_of(ada, "/tokens")}).status_code == 403
    assert rose.get("/", headers={"host": "evil.example"}).status_code == 421
    assert "1.1.0" not in workshop.client().get("/acme/demo").text


def test_every_form_of_a_page_needs_origin_and_form_token(workshop: Workshop) -> None:
    rose = sign_in(workshop, workshop.token("rose", "", "review", "read"))
    sent = {"form": form_of(rose, "/tokens")}
    forms = [
        each.path for each in (*desk.ENDPOINTS, *pages.ENDPOINTS) if each.is_page and each.method == "POST"
    ]
    assert len(forms) >= 6
    for pattern in forms:
        address = pattern.format(owner="acme", skill="demo", number="1.1.0")
        assert rose.post(address, data={}).status_code == 403, address
        assert rose.post(address, data=sent, headers={"origin": "https://evil.example"}).status_code == 403
        assert rose.post(address, data=sent, headers={"host": "evil.example"}).status_code == 421


def test_nobody_hands_out_more_than_they_hold(workshop: Workshop) -> None:
    ada = sign_in(workshop, workshop.token("ada"))
    form = form_of(ada, "/tokens")
    for scopes, owner in (("review", ""), ("publish", ""), ("read", ""), ("publish", "other")):
        sent = {"form": form, "scopes": scopes, "owner": owner, "days": "5"}
        assert ada.post("/tokens", data=sent).status_code == 403, scopes
    made = ada.post("/tokens", data={"form": form, "scopes": "publish", "owner": "acme", "days": "5"})
    assert "shown once" in made.text


def test_a_token_that_a_page_made_expires_no_later_than_the_one_it_was_made_with(workshop: Workshop) -> None:
    secret = workshop.server.accounts.add_token(OPERATOR, "ada", ("read",), "acme", days=2)
    ada = sign_in(workshop, secret)
    sent = {"form": form_of(ada, "/tokens"), "scopes": "read", "owner": "acme", "days": "3650"}
    assert ada.post("/tokens", data=sent).status_code == 200
    expires = [row["expires"] for row in workshop.server.accounts.tokens(workshop.caller(secret))]
    assert expires[-1] == expires[-2]


def test_numbers_of_a_form_that_make_no_sense_are_refused(workshop: Workshop) -> None:
    ada, long = sign_in(workshop, workshop.token()), "9" * 5000
    form = form_of(ada, "/tokens")
    sent = {"form": form, "scopes": "read", "owner": "acme", "days": long}
    assert ada.post("/tokens", data=sent).status_code == 422
    assert ada.post("/tokens/revoke", data={"form": form, "token": long}).status_code == 404


def test_a_user_header_counts_only_from_a_proxy_that_was_named(tmp_path: Path) -> None:
    for proxies, signed_in in ((frozenset({"testclient"}), True), (frozenset(), False)):
        folder = tmp_path / str(signed_in)
        workshop = Workshop(folder, user_header="x-user", proxies=proxies)
        workshop.token("rose", "", "review")
        text = workshop.client().get("/", headers={"x-user": "rose"}).text
        assert ("Signed in: rose" in text) is signed_in


def test_an_owner_yanks_and_unyanks_a_version_of_their_own(workshop: Workshop) -> None:
    ada, eve = (sign_in(workshop, workshop.token(*who)) for who in (("ada", "acme"), ("eve", "evil")))
    address, stranger = "/acme/demo/1.0.0/review", workshop.client()
    for action, status in (("yank", 404), ("unyank", 200)):
        sent = {"form": form_of(eve, "/tokens"), "action": action}
        assert eve.post(address, data=sent).status_code in (403, 404)
        assert ada.post(address, data={"form": form_of(ada, address), "action": action}).status_code == 303
        assert stranger.get("/acme/demo").status_code == status
