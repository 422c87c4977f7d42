"""Install skills into an immutable store: approved by digest, previewed, changed atomically."""
