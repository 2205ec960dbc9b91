"""Results that show themselves: as text, one line, HTML, document, data frame, figure and histogram."""
