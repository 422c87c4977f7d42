"""What the model sees: catalogue, envelope, budget, session memory, the neutral tools."""
