"""The page on one PCA: what it shows, its figures and its sections."""
