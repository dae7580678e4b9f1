"""The results file, the terminal report, the HTML page and comparisons."""
