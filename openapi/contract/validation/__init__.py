"""What a dialect must satisfy: the schema of its file, and that its parts agree with one another."""
