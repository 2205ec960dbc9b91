"""Where work is done: in this process, in processes of this machine, or on any executor; with retries, and
checkpoints of what is done.

in: `Work`, its units
out: results of the units, in order
"""
