"""What can be looked at, from results and theory. Never simulates."""
