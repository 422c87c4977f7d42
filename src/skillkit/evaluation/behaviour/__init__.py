"""The behaviour tier: model runs with and without a skill."""
