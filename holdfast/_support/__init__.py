"""What every room may use and no user meets: atomic files, threads, counting, literals. Private."""
