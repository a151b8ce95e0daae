"""How the clustering loop reaches the rows: each file serves one kind of data."""
