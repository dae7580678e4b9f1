"""Tool calls: formats, parsers and grammars."""
