"""Model providers: one file per provider, behind one small protocol."""
