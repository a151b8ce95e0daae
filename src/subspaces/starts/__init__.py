"""First partitions, from which the loop of `core` begins its sweeps."""
