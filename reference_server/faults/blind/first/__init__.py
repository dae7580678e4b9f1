"""The first set of blind faults. The authors of the checks did not know it when it was measured; it is open since."""
