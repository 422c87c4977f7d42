"""Where skills come from: one file a kind, found by the text that names it or by the kind in a record."""
