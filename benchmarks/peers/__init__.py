"""This library beside others that read skills."""
