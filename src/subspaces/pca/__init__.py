"""One PCA: how many components, how sure, what they rest on, who does not belong."""
