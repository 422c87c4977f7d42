"""What a script is given, completed: a model leaves out options, and values that were said."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from skillkit.agent.models.constrained import Call
from skillkit.agent.models.examples import RUN, Example
from skillkit.agent.models.identifiers import example_identifiers, find_identifiers
from skillkit.agent.models.script_requests import is_option
from skillkit.agent.models.spoken_times import clock_time, spoken_time

_CHOICES = re.compile(r"^(--[\w-]+)\b.*? one of ([\w-]+(?:, [\w-]+)+)")


def complete(call: Call, examples: Sequence[Example], usage: Callable[[str, str], str], request: str) -> Call:
    """Return a call of a script as examples give values, with the options of which a choice was said."""
    if call.tool != RUN:
        return call
    taken = usage(str(call.arguments.get("skill_id", "")), str(call.arguments.get("script_name", "")))
    return with_said_choices(as_examples_give(call, examples, request), taken, request)


def said_choices(usage: str, request: str) -> dict[str, str]:
    """Return the options of a script of which a request says one choice that is not what it has anyway."""
    spelled = set(re.findall(r"[^\W_]+", request.casefold()))
    found: dict[str, str] = {}
    for line in usage.splitlines():
        if listed := _CHOICES.match(line):
            said = [word for word in listed[2].split(", ") if word.casefold() in spelled]
            if len(said) == 1 and not re.search(rf"default:? '?{re.escape(said[0])}\b", line):
                found[listed[1]] = said[0]
    return found


def with_said_choices(call: Call, usage: str, request: str) -> Call:
    """Return a call of a script with the options of which a choice was said: `those that are open`."""
    given = [*call.arguments.get("args", ())]
    for option, said in said_choices(usage, request).items():
        if said in given[1:] and is_option(given[given.index(said) - 1]):  # it may stand after another
            given[given.index(said) - 1] = option
        given += [option, said] if not {option, said} & {*given} else []
    return Call(call.tool, {**call.arguments, "args": given}) if given else call


def as_examples_give(call: Call, examples: Sequence[Example], request: str) -> Call:
    """Return a call of a script with its values as examples give them.

    Where these give each by an option, one that stands alone gets the first that is free, and a time of day
    that was told is not left out.
    """
    script = call.arguments.get("script_name") if call.tool == RUN else None
    shown = [
        example.values for example in examples if example.script == script is not None and example.values
    ]
    if any(example_identifiers(values) for values in shown):
        return _without_words(call, shown)
    if not shown or not all(map(_by_options, shown)):
        return call
    options = dict.fromkeys(value for values in shown for value in values if is_option(value))
    given: list[str] = []
    for before, value in pairwise(["", *call.arguments.get("args", ())]):
        free = [option for option in options if option not in given]
        bare = not is_option(value) and not is_option(before)
        given += [free[0], value] if bare and free else [value]
    timed = {option for values in shown for option, value in pairwise(values) if clock_time(value)}
    time = spoken_time(request)
    if time is not None and len(timed) == 1 and timed.isdisjoint(given):
        given += [*timed, f"{time[0]:02}:{time[1]:02}"]
    return Call(call.tool, {**call.arguments, "args": given}) if given else call


def _without_words(call: Call, shown: Sequence[Sequence[str]]) -> Call:
    """Return a call of a script for identifiers without words that stand alone beside one."""
    given = [*call.arguments.get("args", ())]
    named = find_identifiers(
        " ".join(given), [each for values in shown for each in example_identifiers(values)]
    )
    kept = [
        value
        for before, value in pairwise(["", *given])
        if value in named or is_option(value) or is_option(before)
    ]
    return Call(call.tool, {**call.arguments, "args": kept}) if named and kept else call


def _by_options(values: Sequence[str]) -> bool:
    """Return whether each value of a command line stands after an option."""
    return all(is_option(value) or is_option(before) for before, value in pairwise(["", *values]))
