"""Entry point of ``python -m quietcrowd``."""

from quietcrowd.commands.main import main

if __name__ == "__main__":
    main()
