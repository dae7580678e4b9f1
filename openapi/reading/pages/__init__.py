"""Vendor pages as rows of cells, from HTML, Markdown or plain text."""
