"""What a fleet adds to a run on this machine, and its dispatcher at a size that no machine here has."""
