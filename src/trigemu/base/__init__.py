"""What every room needs, independent of triggers: errors, atomic file writing, kernels, array types, TOML
with line numbers, plugins, and engines that run work on any executor.

in: files, numbers
out: messages, typed tables, compiled kernels
"""
