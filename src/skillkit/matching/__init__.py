"""Request → ranked skills with scores and reasons."""
