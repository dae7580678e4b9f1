"""Pages that a browser copied as text: tables whose cells follow one another on lines."""
