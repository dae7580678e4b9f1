"""Read pages that describe each parameter in an entry of its own: lists, definitions, fields and headings."""
