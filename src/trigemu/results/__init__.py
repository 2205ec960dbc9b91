"""How results are shown. `kinds` says what each kind of result shows, as typed tables (`table`) and notes;
`writers` write these as text, HTML, JSON, CSV and data frames; `figures` draws. Nothing is computed here, and
each part is imported alone: figures need Matplotlib, a terminal does not.

in: results of `rates` and `studies`
out: text, HTML, documents, figures
"""
