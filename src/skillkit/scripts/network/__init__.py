"""The network of a sandbox: granted hosts by name, through a gateway outside it, and nothing else."""
