"""Model providers: one file a provider, behind one small protocol."""
