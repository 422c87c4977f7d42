"""Skills from git: verified, trusted by content, updated with a diff, never half done."""
