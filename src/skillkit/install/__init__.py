"""Git → a verified, immutable store: trust by content, updates shown first, never half done."""
