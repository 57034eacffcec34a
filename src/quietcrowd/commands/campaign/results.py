"""``quietcrowd campaign results``: truths, or shares and means, of a campaign so far."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quietcrowd.campaign.terms.rounds import spell_seconds
from quietcrowd.campaign.terms.settings import DECIDED_FROM
from quietcrowd.commands import options
from quietcrowd.commands.campaign.client import OnCampaign, checked
from quietcrowd.commands.declare import command, option
from quietcrowd.commands.files import check_one_stream, check_outputs
from quietcrowd.commands.printing import counted, note
from quietcrowd.commands.survey import show_estimates, show_frame
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    import httpx
    import pandas as pd

_TRIES = 5
_REPLACED = 409


@command()
class Results(OnCampaign):
    """Print the results of a campaign so far.

    They are truths or, if shares are the goal of the campaign, the estimated share of people who
    give each answer. Means are printed for numbers. Shares and means have intervals, which contain
    the chance in the noise and in the choice of workers. For files of truths and reports, use
    quietcrowd campaign export.

    Example: quietcrowd campaign results 0123456789abcdef0123456789abcdef

    Example: quietcrowd campaign results 0123456789abcdef0123456789abcdef --shares -o shares.csv

    Example: quietcrowd campaign results 0123456789abcdef0123456789abcdef --series station-7
    """

    shares: bool = option(help="Shares or means, whatever the goal.", default=False)
    means: bool = option(help="Means of levels, instead of shares.", default=False)
    of_round: int | None = option(
        "--round",
        min=0,
        metavar="NUMBER",
        help="A round, counted from 0. Default: the last one shown.",
        default=None,
    )
    series: str | None = option(
        metavar="TASK", help="All rounds of one question, by its id.", default=None
    )
    output: Path | None = options.OUTPUT
    as_json: bool = options.JSON

    def run(self) -> None:
        """Print or write the results."""
        check_one_stream(self.output, as_json=self.as_json)
        check_outputs([], self.output)
        if self.series is not None and self.of_round is not None:
            raise ParameterError("commands.series-and-round")
        url = f"/campaigns/{self.campaign_id}"
        with self.client() as client:
            campaign = checked(client.get(url)).json()
            estimates = self.shares or self.means or campaign["goal"] == "shares"
            path = "estimates" if estimates else "results/truths"
            if campaign["rounds"] is not None:
                self._note_round(client, campaign)
            if self.series is not None:
                self._show_series(client, estimates)
                return
            asked = {} if self.of_round is None else {"round": str(self.of_round)}
            first, items = _pages(client, f"{url}/{path}", asked)
            funnel = checked(client.get(f"{url}/funnel")).json()
        note(_words(funnel, campaign["at_least"]))
        if not estimates:
            import pandas as pd

            frame = pd.DataFrame(items)
            if "decided" in frame:
                note(
                    f"{int((~frame['decided']).sum()):,} of {len(frame):,} truths are undecided: "
                    f"tied, or less than {DECIDED_FROM:.0%} sure."
                )
            show_frame(
                frame,
                "--output truths.csv",
                output=self.output,
                as_json=self.as_json,
            )
            return
        if first["why_none"] is not None:
            raise ParameterError("commands.no-estimates", reason=first["why_none"])
        for warning in first["warnings"]:
            note(f"{warning['code']}: {warning['message']}")
        frame = _frame(items, means=self.means)
        show_estimates(
            frame,
            first["reports"],
            first["confidence"],
            output=self.output,
            as_json=self.as_json,
        )

    def _note_round(self, client: httpx.Client, campaign: Mapping[str, Any]) -> None:
        """Say which round is printed, or raise ParameterError if it is not shown."""
        items = checked(client.get(f"/campaigns/{self.campaign_id}/rounds")).json()["items"]
        known = {one["round"]: one for one in items}
        shown = max(known, default=None) if self.of_round is None else self.of_round
        if shown is None:
            grace, least = spell_seconds(campaign["rounds"]["grace"]), campaign["at_least"]
            raise ParameterError("commands.no-round-yet", grace=grace, least=least)
        if shown not in known:
            numbers = ", ".join(map(str, known)) or "none yet"
            raise ParameterError("commands.round-unknown", number=shown, known=numbers)
        if self.series is None:
            one = known[shown]
            begin = f"{one['begins'][:10]} {one['begins'][11:16]} UTC"
            note(
                f"Round {shown}, from {begin}: {counted(one['reports'], 'report')} of "
                f"{counted(one['participants'], 'worker')}. Rounds shown: "
                f"{', '.join(map(str, known))}."
            )

    def _show_series(self, client: httpx.Client, estimates: bool) -> None:
        import pandas as pd

        asked = {"task": str(self.series), "goal": "shares" if estimates else "truths"}
        url = f"/campaigns/{self.campaign_id}/series"
        items = checked(client.get(url, params=asked)).json()["items"]
        frame = pd.DataFrame(items).drop(columns=["task", "histogram"], errors="ignore")
        show_frame(frame, "--output series.csv", output=self.output, as_json=self.as_json)


def _pages(
    client: httpx.Client, url: str, asked: Mapping[str, str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the first page and the items of all; begin again if others replace them."""
    for _ in range(_TRIES):
        first = page = checked(client.get(url, params=asked)).json()
        items = list(first["items"])
        while page["next_cursor"] is not None:
            answer = client.get(url, params={**asked, "cursor": page["next_cursor"]})
            if answer.status_code == _REPLACED:
                break
            page = checked(answer).json()
            items += page["items"]
        else:
            return first, items
    raise ParameterError("commands.results-replaced")


def _words(funnel: Mapping[str, Any], least: int) -> str:
    """Return the counts, of which some are rounded down if workers wait for a release."""

    def about(count: int) -> str:
        if least == 1:
            return f"{count:,}"
        return f"at least {count:,}" if count else f"fewer than {least:,}"

    links = "" if funnel["links"] is None else f"{counted(funnel['links'], 'link')}; "
    return (
        f"{links}{about(funnel['joined'])} joined, {funnel['sent']:,} sent, "
        f"{about(funnel['left'])} withdrew."
    )


def _frame(items: list[dict[str, Any]], *, means: bool) -> pd.DataFrame:
    """Return shares by label or level, or means."""
    import pandas as pd

    if not items or "label" in items[0]:
        if means and items:
            raise ParameterError("commands.labels-have-no-mean")
        return pd.DataFrame(items)
    if means or items[0]["histogram"] is None:
        return pd.DataFrame([{**one, "histogram": None} for one in items]).drop(columns="histogram")
    return pd.DataFrame(
        {
            "task": one["task"],
            "label": bar["low_edge"],
            **{name: bar[name] for name in ("share", "low", "high")},
            "reports": one["reports"],
        }
        for one in items
        for bar in one["histogram"]
    )
