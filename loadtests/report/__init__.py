"""The results file, the terminal report, the HTML report and the comparison of two tests."""
