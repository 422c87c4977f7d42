"""Sources of skills: one module per kind, selected by the text that names it or the kind in a record."""
