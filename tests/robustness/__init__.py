"""The fault table: one test for each row, over real sockets."""
