"""What every room needs, independent of triggers: errors, atomic file writing, kernels, array types, TOML
with line numbers, the machine, and engines that run work on it or elsewhere (`execution`).

in: files, numbers
out: messages, typed tables, compiled kernels
"""
