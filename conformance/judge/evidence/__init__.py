"""What the exchanges of a whole run show about the server and its model."""
