"""``quietcrowd demo``: a complete campaign on this machine.

The crowd is simulated; the server, the devices and the noise are real.
"""

from __future__ import annotations

from quietcrowd.campaign.extra import require_client, require_server
from quietcrowd.commands import options
from quietcrowd.commands.declare import command, option, typer_app

__all__ = ["Demo", "app"]


@command("demo")
class Demo:
    """Play a campaign on this machine, with a simulated crowd.

    Example: quietcrowd demo --epsilon 0.5
    """

    epsilon: float = options.EPSILON
    seed: int = option(min=0, metavar="NUMBER", help="Of the crowd, not of the noise.", default=7)
    stay: bool = option(
        help="Serve until Ctrl-C: to look at the dashboard, or answer.", default=False
    )

    def run(self) -> None:
        """Play the campaign."""
        require_server()
        require_client()
        from quietcrowd.commands.demo.campaign import play

        play(epsilon=self.epsilon, seed=self.seed, stay=self.stay)


app = typer_app(Demo)
