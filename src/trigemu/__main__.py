"""`python -m trigemu`"""

from trigemu.cli import main

if __name__ == "__main__":
    main()
