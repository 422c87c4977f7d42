"""One conversation through every integration, with nothing scripted but the model."""
