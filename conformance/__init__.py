"""The suite: plans scenarios, records exchanges with a URL and judges them against the contract."""
