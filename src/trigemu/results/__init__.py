"""How results are shown: a file for each kind of result says what it shows, as typed tables (`table`) and
notes; `terminal` prints these, plugins make HTML and exports of them, and `figures` draws. Nothing is
computed here, and each part is imported alone: figures need Matplotlib, a terminal does not.

in: results of `rates` and `studies`
out: text, HTML, documents, figures
"""
