"""`python -m trigemu`"""

from trigemu.cli.commands import main

if __name__ == "__main__":
    main()
