"""One run as a file: its result, its checkpoints, runs in parallel, runs on trackers."""
