"""What is reported of correct servers: nothing, in any mode and in any run."""
