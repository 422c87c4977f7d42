"""What clients, dispatchers and workers of a fleet agree on."""

from typing import Any

PROTOCOL = 2
"""Of what they say to each other; those of another version are not used."""
HEARTBEAT = 1.0
"""Seconds between two signs of life of a worker or a client."""
SILENCE = 5.0
"""Seconds without one after which a worker counts as lost."""
CLIENT_SILENCE = 7.0
"""Seconds without one after which a client counts as ended; a busy program may pause for some."""
STRANDED = 60.0
"""Seconds without any machine that takes runs after which what waits is refused."""
REUSE = 2.0
"""Seconds after its grant in which a program may start further runs in a slot that nobody waits for."""
Message = tuple[Any, ...]
"""`("submit", run, tenant, priority)`, `("adopt", slot, tenant, worker)`, `("withdraw", run)`,
`("release", slot, further runs)`, `("lost", slot, worker)` from a client; `("granted", run, worker, seconds
for further runs)`, `("refused", run, why)`, `("wanted", slot)`, `("lost", slot)` to it, and `("unknown", "")`
when it has to say everything again. A slot has the name of the run that it was granted to."""
