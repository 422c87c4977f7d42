"""What the model sees."""
