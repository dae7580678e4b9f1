"""The grammar of table cells in English and Chinese: text to statements about a parameter."""
