"""How a table is written, one file a way: terminal, HTML, JSON and CSV, data frame, histogram, reference."""
