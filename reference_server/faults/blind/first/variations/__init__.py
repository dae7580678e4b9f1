"""Legal variations of servers, based on public reports: odd answers that the documents permit."""
