"""What a fleet adds to a run on this machine, and what is left of its promises on bad days."""
