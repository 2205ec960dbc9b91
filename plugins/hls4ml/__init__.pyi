import trigemu.api

from .project import read_project as read_project

PLUGIN: trigemu.api.Plugin
