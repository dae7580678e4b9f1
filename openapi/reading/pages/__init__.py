"""The rows of cells in a vendor's page of HTML, Markdown or plain text."""
