"""Does the embedded model choose the right tool? Requests of everyday kinds, answered for real."""
