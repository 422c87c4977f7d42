"""How good a model is as a judge: sentences about answers whose truth is known, by planting defects."""

import json
from collections import defaultdict
from pathlib import Path
from time import perf_counter

from benchmarks.measure import record, table
from skillkit.agent.models.choice import choose
from skillkit.agent.settings import SettingsFile
from skillkit.agent.task_runs import AgentExecutor
from skillkit.evaluation.behaviour.judge import Judge, statement_kind

ANSWERS = Path(__file__).with_name("judge_answers.json")
"""Requests, good answers, and sentences with the change of the answer that makes each of them false."""


def measure(provider: str) -> None:
    """Ask about each sentence twice: of the answer, and of the answer with the defect."""
    agent = AgentExecutor(choose(SettingsFile().load(), provider))
    judge = Judge(agent.ask, trust=True)
    right: dict[str, list[bool]] = defaultdict(list)
    begun = perf_counter()
    for task in json.loads(ANSWERS.read_text(encoding="utf-8")):
        for each in task["sentences"]:
            sentence = each["sentence"]
            harmed = task["answer"].replace(each["replace"], each["by"])
            if harmed == task["answer"]:
                raise ValueError(f"Nothing changes for: {sentence}")
            for text, truth in ((task["answer"], True), (harmed, False)):
                verdict, _ = judge.opinion(sentence, task["prompt"], text)
                right[statement_kind(sentence)].append(verdict is truth)
                print(f"{verdict is truth} {statement_kind(sentence)} {truth}: {sentence}", flush=True)
    agent.close()
    rows = [
        (kind, str(sum(found)), str(len(found)), f"{sum(found) / len(found):.0%}")
        for kind, found in right.items()
    ]
    table(
        f"Agreement of the judge {agent.name} {agent.model}",
        ("sentences about", "right", "asked", "share"),
        rows,
    )
    print(f"\n{judge.asked} questions in {perf_counter() - begun:.0f} s")
    record(
        "evaluation-judge",
        {"judge": agent.name, **{kind: [sum(found), len(found)] for kind, found in right.items()}},
    )
