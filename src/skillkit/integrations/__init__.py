"""One thin module a framework over the neutral tools."""
