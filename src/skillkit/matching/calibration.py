"""The learned constants.

Made by `python3 dev.py bench matching tune --write`; docs/matching.md says from what data and how.
"""

from skillkit.matching.weights import Calibration, LexicalWeights, WordWeights

LEXICAL = LexicalWeights(
    words=WordWeights(
        saturation=1.5,
        length=0.9,
        usual_length=50.0,
        prior=50.0,
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
    saturation=1.5,
    length=0.75,
    usual_length=800.0,
    prior=50.0,
    commonness=0.5,
    coverage=0.4,
    evidence=2.0,
)
BODY_SHARE = 0.4
SEMANTIC_SHARE = 2.0

CALIBRATIONS = {
    ("lexical",): Calibration(middle=1.334, slope=5.49),
    ("semantic",): Calibration(middle=0.345, slope=27.3),
    ("lexical", "body"): Calibration(middle=1.871, slope=4.61),
    ("lexical", "semantic"): Calibration(middle=1.833, slope=4.75),
    ("lexical", "semantic", "body"): Calibration(middle=2.362, slope=4.32),
}
