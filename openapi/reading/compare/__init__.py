"""Compare the facts of a page with the contract, and print them as a dialect's delta."""
