"""Run a skill's scripts within their grants, bounded, and leave nothing behind."""
