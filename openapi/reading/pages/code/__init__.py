"""Read blocks of code that state parameters: TypeScript types, and request objects with comments."""
