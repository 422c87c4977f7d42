"""Which skills fit a request: ranked, with scores and reasons, or none at all."""
