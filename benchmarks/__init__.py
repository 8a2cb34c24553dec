"""Timings of holdfast's rules beside their peers. `make bench` runs them; start reading at aggregation.py."""
