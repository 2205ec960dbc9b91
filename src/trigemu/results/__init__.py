"""Results as documents, tables for a terminal (`text`), figures (`figures`) and a page (`report`). Nothing is
computed here, and each part is imported alone: figures need Matplotlib, a terminal does not.

in: results
out: text, figures, HTML
"""
