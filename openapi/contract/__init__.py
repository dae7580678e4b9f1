"""The contract of a dialect: load its data files, resolve and check them, and convert them to frozen types."""
