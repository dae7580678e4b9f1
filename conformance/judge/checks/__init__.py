"""The checks, one module or folder for each topic. The topic is the part of a check's id in front of the dot."""
