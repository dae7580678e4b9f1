"""Pages in HTML: one file each, which loads nothing."""
