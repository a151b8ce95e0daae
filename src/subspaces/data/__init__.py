"""How the loop reaches the rows: each file is one kind of data."""
