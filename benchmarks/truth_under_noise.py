"""How near to the truth the methods come under noise: every part of the table.

``python benchmarks/truth_under_noise.py --part labels --draws 4`` prints one part. With
``--keep FOLDER`` what the rivals made of each draw is kept there, and taken from there the next
time, but for the method that is judged: so a change of it is judged in its own time alone.
"""

import argparse
import sys
import time

from own_process import HERE
from under_noise.parts import PARTS
from under_noise.records import Kept
from under_noise.rivals import LABEL_METHODS, NUMBER_METHODS, SUBJECT, TOLD


def main(words=None):
    """Run the named parts and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="append", choices=PARTS, help="default: all")
    parser.add_argument("--draws", type=int, help="default: what the page has")
    parser.add_argument("--keep", help="folder of what earlier runs gave")
    parser.add_argument("--again", action="append", help="whose records to make again")
    parser.add_argument("--subject", default=SUBJECT, help="the method that is judged")
    parser.add_argument("--set", action="append", help="real sets or families; default: all")
    parser.add_argument("--epsilon", action="append", type=float, help="default: all")
    given = parser.parse_args(words)
    if given.subject not in {*LABEL_METHODS, *NUMBER_METHODS}:
        known = ", ".join(sorted({*LABEL_METHODS, *NUMBER_METHODS}))
        parser.error(f"there is no method {given.subject}; --subject may be {known}")
    sys.path.append(str(HERE.parent))  # the crowds of the tests
    kept = Kept(given.keep, given.again or [given.subject, TOLD])
    choice = {"sets": given.set, "epsilons": given.epsilon}
    chosen = {name: value for name, value in choice.items() if value}
    for name in given.part or PARTS:
        start = time.perf_counter()
        print(PARTS[name](given.draws, kept, given.subject, **chosen).markdown())
        print(f"({name}: {time.perf_counter() - start:.0f} s)\n", flush=True)


if __name__ == "__main__":
    main()
