"""Judge recorded runs again, send recorded requests again, and serve recorded answers to client libraries."""
