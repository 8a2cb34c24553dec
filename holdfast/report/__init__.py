"""Tables, figures and pages for people. Plotting lives here and nowhere else."""
