"""The validation commands of the documents, as `just validate` runs them."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from validation_recipe import (
    QWEN_CODER,
    Command,
    ModelStore,
    Scene,
    cache_with_model,
    main,
    play,
    scenes,
    selected,
)

STORE = ModelStore()  # before the tests move the home folder
ALL = scenes()
model = [
    pytest.mark.model,
    pytest.mark.xdist_group("embedded-model"),
    pytest.mark.skipif(not STORE.installed(QWEN_CODER), reason="the model is not there: agent model install"),
]
pytestmark = pytest.mark.skipif(not shutil.which("jq"), reason="the commands of the documents use jq")


def of_kind(*kinds: str) -> list[object]:
    return [pytest.param(scene, id=scene.title) for scene in selected(ALL, (), kinds)]


def unmet(scene: Scene, folder: Path, models: Path | None = None) -> dict[str, tuple[list[str], str]]:
    """By the command's numbers: what was expected and did not happen, and its output; not what is known."""
    outcomes = play(scene, folder, models)
    return {
        outcome.command.numbers: (outcome.failures, outcome.output)
        for outcome in outcomes
        if outcome.failures and not outcome.command.gap
    }


@pytest.mark.parametrize("scene", of_kind("plain"))
def test_a_command_does_what_the_documents_say(scene: Scene, tmp_path: Path) -> None:
    assert unmet(scene, tmp_path / "stage") == {}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all scenes: what the model has read once, it need not read again."""
    return cache_with_model(tmp_path_factory.mktemp("cache"), STORE)


@pytest.mark.parametrize(
    "scene", [pytest.param(*one.values, id=one.id, marks=model) for one in of_kind("model")]
)
def test_a_command_that_asks_the_model_does_what_the_documents_say(
    scene: Scene, tmp_path: Path, cache: Path
) -> None:
    assert unmet(scene, tmp_path / "stage", cache) == {}


def test_every_number_is_listed_once_and_none_is_left_out() -> None:
    numbers = [number for scene in ALL for command in scene.commands for number in command.listed]
    assert len(numbers) == len(set(numbers))
    whole = {number for number in numbers if re.fullmatch(r"00[14]-\d+", number)}
    assert whole == {f"001-{number}" for number in range(10)} | {
        f"004-{number}" for number in range(1, 34)
    } - {
        "004-25",
        "004-26",
    }, "document 004 counts 15 to 20 twice and has no 25 and 26"


def test_only_what_a_model_says_may_be_known_to_go_wrong() -> None:
    known = [command for scene in ALL for command in scene.commands if command.gap]
    assert [command.numbers for command in known if command.needs != "model"] == []


def test_what_does_not_come_true_is_told(tmp_path: Path) -> None:
    (scene,) = selected(ALL, ["004-16"], ["plain"])
    (command,) = scene.commands
    no_request = "the trace shows no request to the model"
    wrong = [
        (replace(command, exit=3), ["exit code 0, expected 3"]),
        (replace(command, expect=["✓ nothing"]), ["not said: ✓ nothing"]),
        (replace(command, never=["kalshi-markets"]), ["said: kalshi-markets"]),
        (replace(command, calls="x"), ["no successful call of x(); called: []", no_request]),
        (replace(command, carries="stranger"), [no_request]),
        (replace(command, spares="stranger"), [no_request]),
    ]
    outcomes = play(replace(scene, commands=[command for command, _ in wrong]), tmp_path / "stage")
    assert [outcome.failures for outcome in outcomes] == [failures for _, failures in wrong]


def test_the_trace_tells_what_the_model_was_sent_and_called(tmp_path: Path) -> None:
    (scene,) = selected(ALL, ["004-16"], ["plain"])
    log = "mkdir -p ~/.agent/logs && cat > ~/.agent/logs/session-$RANDOM-trace.log <<'END'\n{}\nEND"
    steps = [
        {"kind": "model", "name": "m", "instructions": '<skill_context id="greeter">', "result": ""},
        {"kind": "tool", "name": "greet", "arguments": '{"name": "Ada"}', "result": '{"success": true}'},
        {"kind": "tool", "name": "fails", "arguments": "{}", "result": '{"success": false}'},
    ]
    told = log.format("\n".join(map(json.dumps, steps)))
    right = Command({}, told, calls="greet", arguments="ada", carries="greeter", spares="other")
    wrong = [replace(right, calls="fails"), replace(right, carries="other"), replace(right, spares="greeter")]
    first, *others = play(replace(scene, commands=[right, *wrong]), tmp_path / "stage")
    assert first.failures == []
    assert [len(outcome.failures) for outcome in others] == [1, 1, 1]


def test_the_recipe_prints_a_line_a_command_and_a_sum(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "plain", "004-17"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"(?m)^ok      004-17: agent --check  →  exit 0 · ", shown)
    assert shown.endswith("1 commands, 1 ok, 0 failed\n")
