import trigemu.api

PLUGIN: trigemu.api.Plugin
