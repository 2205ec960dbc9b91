"""The explorer page: menus whose thresholds, prescales and switches users can change, with all rates. It is
one HTML file that needs no server.

in: `Menu`s as written in their files, a `Catalogue`
out: HTML
"""
