"""What `make fill` writes between the markers of pages: tables of stored results, and lists of names."""
