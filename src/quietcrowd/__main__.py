"""``python -m quietcrowd`` is the command line."""

from quietcrowd.cli import main

if __name__ == "__main__":
    main()
