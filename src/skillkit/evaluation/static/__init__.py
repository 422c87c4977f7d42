"""The static tier: what can be said about a skill without a model."""
