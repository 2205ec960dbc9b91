import trigemu.api

from .config import (
    Config as Config,
    ConfigError as ConfigError,
    Slice as Slice,
    load_config as load_config,
    shipped as shipped,
)
from .run import INTERACTIONS as INTERACTIONS, generate as generate

PLUGIN: trigemu.api.Plugin
