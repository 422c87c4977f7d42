"""What a script is given, completed: a model leaves out options, and values that were said."""

import re
from collections.abc import Sequence
from itertools import pairwise

from skillkit.agent.models.constrained import Call
from skillkit.agent.models.examples import RUN, Example
from skillkit.agent.models.script_requests import is_option
from skillkit.agent.models.spoken_times import clock_time, spoken_time

_CHOICES = re.compile(r"^(--[\w-]+)\b.*? one of ([\w-]+(?:, [\w-]+)+)", re.MULTILINE)


def complete(call: Call, examples: Sequence[Example], usage: str, request: str) -> Call:
    """Return a call as examples give values, with the options of its usage of which a choice was said."""
    return with_said_choices(as_examples_give(call, examples, request), usage, request)


def with_said_choices(call: Call, usage: str, request: str) -> Call:
    """Return a call of a script with the options of which a choice was said: `those that are open`."""
    given = [*call.arguments.get("args", ())]
    spelled = set(re.findall(r"[^\W_]+", request.casefold()))
    for option, listed in _CHOICES.findall(usage):
        said = [word for word in listed.split(", ") if word.casefold() in spelled]
        if len(said) == 1 and not {option, *said} & {*given}:
            given += [option, *said]
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


def _by_options(values: Sequence[str]) -> bool:
    """Return whether each value of a command line stands after an option."""
    return all(is_option(value) or is_option(before) for before, value in pairwise(["", *values]))
