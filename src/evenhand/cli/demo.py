"""``evenhand demo``: a service with live traffic, to look at."""

from __future__ import annotations

from evenhand.cli.options import Port


def demo(
    port: Port = 0,
    no_browser: bool = False,  # do not open the page in a browser
) -> None:
    """Serve three allocations with live traffic, and open the page that shows them.

    Rewards arrive some seconds late, or never. One arm is away for a while in every three minutes, is owed plays, and
    gets them when it is back. Ctrl-C ends the service and leaves nothing behind.

    Examples:
        evenhand demo
    """
    from evenhand.service.demo import demonstrate

    if no_browser:
        demonstrate(port, None)
    else:
        demonstrate(port)
