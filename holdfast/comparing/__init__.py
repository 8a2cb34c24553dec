"""Defences side by side: over whole trainings, and on the updates of one round."""
