"""What to send and which checks judge it, decided before anything is sent."""
