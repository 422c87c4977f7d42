"""The learned constants.

Made by `python3 dev.py bench matching tune`; docs/matching.md says from what data and how.
"""

from skillkit.matching.weights import Calibration, LexicalWeights, WordWeights

LEXICAL = LexicalWeights(
    words=WordWeights(
        saturation=1.5,
        length=0.75,
        usual_length=50.0,
        prior=50.0,
        commonness=0.5,
        coverage=0.4,
    ),
    name=1.0,
    name_covered=0.4,
    phrase=0.7,
    elsewhere=0.3,
)
BODY = WordWeights(
    saturation=1.5,
    length=0.75,
    usual_length=800.0,
    prior=50.0,
    commonness=0.5,
    coverage=0.4,
)
BODY_SHARE = 0.4
SEMANTIC_SHARE = 2.0

CALIBRATIONS = {
    ("lexical",): Calibration(middle=1.2, slope=4.0),
    ("semantic",): Calibration(middle=0.35, slope=12.0),
    ("lexical", "body"): Calibration(middle=1.9, slope=3.0),
    ("lexical", "semantic"): Calibration(middle=2.0, slope=3.0),
    ("lexical", "semantic", "body"): Calibration(middle=2.6, slope=3.0),
}
