"""How well, how fast and with which constants requests find their skills."""
