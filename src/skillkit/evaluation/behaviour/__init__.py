"""The behaviour tier: what a model does with a skill, and without it."""
