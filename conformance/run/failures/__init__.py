"""What a run does about failed requests: find out whether the server still answers, and whether load was the reason."""
