"""Import of the menus of experiments as menus in TOML, to be read and edited by people."""
