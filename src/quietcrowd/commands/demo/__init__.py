"""``quietcrowd demo``: a complete campaign on this machine.

The crowd is simulated; the server, the devices and the noise are real.
"""

from quietcrowd.campaign.extra import require_client, require_server
from quietcrowd.commands import options
from quietcrowd.commands.declare import command, option


@command()
class Demo:
    """Run a campaign with a simulated crowd on this machine.

    Example: quietcrowd demo --epsilon 0.5
    """

    epsilon: float = options.EPSILON
    seed: int = option(
        min=0, metavar="NUMBER", help="Seed of the crowd; the noise is always random.", default=7
    )
    stay: bool = option(
        help="Serve until Ctrl-C, to see the dashboard or to answer.", default=False
    )

    def run(self) -> None:
        """Play the campaign."""
        require_server()
        require_client()
        from quietcrowd.commands.demo.campaign import play

        play(epsilon=self.epsilon, seed=self.seed, stay=self.stay)
