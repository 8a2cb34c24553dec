"""Tables, figures and pages for people, from results and theory. Plotting lives here and nowhere else."""
