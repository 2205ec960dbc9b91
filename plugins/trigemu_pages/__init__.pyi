import trigemu.api

from .explorer.make import Explorer as Explorer, make_explorer as make_explorer
from .report.page import render as render
from .report.sections import sections as sections
from .report_contents import collect_contents as collect_contents

PLUGIN: trigemu.api.Plugin
