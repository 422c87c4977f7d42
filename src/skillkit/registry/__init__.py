"""A registry that existing clients install from: one process, one database file, one folder of blobs."""
