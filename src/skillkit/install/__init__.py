"""Git → a verified, immutable store: trust by content, updates with a difference, never half done."""
