"""What a page says about answers in other ways than tables: printed JSON, statuses of errors, and sentences."""
