"""Menus and recorded decisions of the CMS Level-1 trigger.

in: its menus in XML, the Phase-2 menus in YAML, its test vectors
out: menus in TOML, samples with recorded decisions, a check of menus against them
"""

import lazy_loader

from trigemu.base.plugins import Plugin

PLUGIN = Plugin(
    arithmetic={"integer": ".hardware_pairs:cut_numbers"},
    formats={"cms-l1-vector": ".vectors:CMSVector"},
    importers={"cms-l1": ".cli_import:cms_l1", "cms-phase2": ".cli_import:cms_phase2"},
    commands={"check-decisions": ".cli_check:check"},
    uses=("anomaly", "validation"),
)

# The stub lists the exported names; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
