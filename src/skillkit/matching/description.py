"""The phrases that a description quotes as typical requests."""

import re

LONGEST_DESCRIPTION = 8_192
MOST_PHRASES = 64
_QUOTED = re.compile(r"\"([^\"\n]{2,80})\"|“([^”\n]{2,80})”|(?<!\w)['‘]([^'‘’\n]{2,80})['’](?!\w)")


def quoted_phrases(description: str) -> tuple[str, ...]:
    """What stands in quotation marks, once each."""
    quoted = ("".join(groups).strip(" ,.;:") for groups in _QUOTED.findall(description[:LONGEST_DESCRIPTION]))
    return tuple(dict.fromkeys(phrase for phrase in quoted if phrase))[:MOST_PHRASES]
