"""The page that the parts make: docs/truth-under-noise.md."""

import platform
import sys

HEAD = """\
# Truth under noise

How near to the truth `{subject}` comes, beside every other method of the library, an oracle that \
knows the distribution of the workers, and the best constant guess, which is chosen by looking at \
the known truths. Written by `make bench`, which takes {minutes:.0f} minutes here ({machine}, \
Python {python}); the same seeds give the same figures.

- All methods see the same reports. A figure is the mean over draws of noise and the tasks with \
known truths; ± is one standard error.
- Standard errors are of draws *and* tasks: the variance of the means by draw over the number of \
draws, plus that of the means by task over the number of tasks, less that of what is left, which \
both count. Those of ratios follow by the delta method; the best other method of a cell is chosen \
by looking, and its choice is not part of them. Drawn crowds are new in every draw, so that the \
draws tell of both.
- A ratio is "met" or "missed" where it is beyond two standard errors of the bar; where these are \
above .1 it is "undecided", and "undecided, above" where it is beyond them all the same.
- Losing cells stand first. In brackets: the ratio to the oracle and to the constant.
- duchenne has known truths of 159 of 2,134 tasks, adult 333 of 11,040, web 2,653 of 2,665, \
weather_temperature 4,514 of 6,334, flight_20111201 386 of 4,770, population 262 of 1,124; the \
other sets of all.

"""


def page(sections, subject, seconds):
    """Return the whole page as Markdown."""
    head = HEAD.format(
        subject=subject,
        minutes=seconds / 60,
        machine=platform.machine(),
        python=sys.version.split()[0],
    )
    return head + "\n".join(section.markdown() for section in sections)
