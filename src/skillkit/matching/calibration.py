"""The learned constants.

Made by `python3 dev.py bench matching tune --write`; docs/matching.md says from what data and how.
"""

from skillkit.matching.weights import Calibration, LexicalWeights, WordWeights

LEXICAL = LexicalWeights(
    words=WordWeights(
        saturation=1.5,
        length=0.9,
        usual_length=35.0,
        prior=20.0,
        commonness=0.5,
        coverage=0.3,
        evidence=2.0,
    ),
    name=2.0,
    name_covered=0.4,
    phrase=1.0,
    elsewhere=0.3,
)
BODY = WordWeights(
    saturation=2.5,
    length=0.75,
    usual_length=1200.0,
    prior=50.0,
    commonness=0.5,
    coverage=0.3,
    evidence=2.0,
)
BODY_SHARE = 0.4
SEMANTIC_SHARE = 2.0

CALIBRATIONS = {
    ("lexical",): Calibration(middle=1.274, slope=5.29),
    ("semantic",): Calibration(middle=0.345, slope=27.3),
    ("lexical", "body"): Calibration(middle=2.056, slope=4.38),
    ("lexical", "semantic"): Calibration(middle=1.834, slope=4.43),
    ("lexical", "semantic", "body"): Calibration(middle=2.661, slope=3.61),
}
