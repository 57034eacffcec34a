"""The page that the parts make: research/docs/truth-under-noise.md."""

import platform
import sys

HEAD = """\
# Truth under noise

This page compares `{subject}` with the other methods of the library, with an oracle that knows \
the distribution of the workers, and with the best constant guess according to the known truths. \
`make bench` writes it in {minutes:.0f} minutes of processor time ({machine}, Python {python}). \
The same seeds give the same numbers.

- **Errors.** All methods use the same reports. Numbers are means over runs and over tasks with \
known truths. A run samples new noise or, for simulated crowds, a new crowd.
- **Standard errors** (after ±) include the variation of runs *and* tasks: the sum of the \
variances of the mean per run and of the mean per task, minus the residual variance, which both \
include. For simulated crowds the variation of runs includes both. Standard errors of ratios use \
the delta method. They do not include the choice of the best other method per cell, which is \
based on the errors.
- **Verdicts.** A result is "met" or "missed" if it is at least two standard errors from the \
limit. It is "undecided" if it is closer, or if two standard errors exceed .1. "undecided, above" \
means that it is above the limit by more than these.
- **Order.** Cells in which `{subject}` is worse come first. Parentheses contain the ratio to the \
oracle or the constant.
- **Known truths.** duchenne has 159 for 2,134 tasks, adult 333 for 11,040, web 2,653 for 2,665, \
weather_temperature 4,514 for 6,334, flight_20111201 386 for 4,770, and population 262 for 1,124. \
The other sets have known truths for all tasks.

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
