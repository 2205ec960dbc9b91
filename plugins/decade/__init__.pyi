import trigemu.api

from .decade import Decade as Decade

PLUGIN: trigemu.api.Plugin
