"""``python -m quietcrowd`` is the command line."""

from quietcrowd.commands.main import main

if __name__ == "__main__":
    main()
