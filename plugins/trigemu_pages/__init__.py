"""Pages in HTML: the report of menus, and the explorer, where users change thresholds.

in: `Menu`s, a `Catalogue`
out: HTML
"""

import lazy_loader

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    commands={"explore": ".cli:explore", "report": ".cli:report"},
    sections={
        "summary": ".report.sections:summary",
        "menus": ".report.sections:menus",
        "differences": ".report.sections:differences",
        "rates": ".report.sections:rates",
        "groups": ".report.sections:groups",
        "overlaps": ".report.sections:overlaps",
        "scans": ".report.sections:scans",
        "turnons": ".report.sections:turnons",
    },
    exports={"html": ".html:of_result"},
)

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
