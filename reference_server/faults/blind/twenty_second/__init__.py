"""The twenty-second set of blind faults. It is hidden from the authors of the checks until it has been measured."""
