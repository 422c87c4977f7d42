"""The static tier: checks without a model."""
