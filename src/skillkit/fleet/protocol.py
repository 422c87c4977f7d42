"""What clients, dispatchers and workers of a fleet agree on."""

from typing import Any

PROTOCOL = 1
"""Of what they say to each other; those of another version are not used."""
HEARTBEAT = 1.0
"""Seconds between two signs of life of a worker or a client."""
SILENCE = 5.0
"""Seconds without one after which a worker counts as lost."""
CLIENT_SILENCE = 7.0
"""Seconds without one after which a client counts as ended; a busy program may pause for some."""
STRANDED = 60.0
"""Seconds without any machine that takes runs after which what waits is refused."""
Message = tuple[Any, ...]
"""`("submit", run, tenant, priority)`, `("adopt", run, tenant, worker)`, `("withdraw", run)`,
`("release", run)`, `("lost", run, worker)` from a client; `("granted", run, worker)`,
`("refused", run, why)`, `("lost", run)` to it, and `("unknown", "")` when it has to say everything again."""
