"""How often judges were right about sentences with known answers: `python3 dev.py bench evaluation judge`."""

from collections.abc import Mapping

from skillkit.evaluation.behaviour.judge import Agreement

AGREEMENTS: Mapping[str, Agreement] = {
    "local": Agreement("local", {"presence": (14, 24), "format": (4, 8), "absence": (8, 16)}),
}
"""By provider. A judge that is not here was not measured; the user who names it trusts it."""
