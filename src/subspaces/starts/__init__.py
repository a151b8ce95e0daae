"""First partitions, from which the loop of `core` sweeps on."""
