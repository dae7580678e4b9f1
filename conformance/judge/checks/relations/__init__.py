"""Two requests that mean the same have the same answer, alone, among others, and cut to any length."""
