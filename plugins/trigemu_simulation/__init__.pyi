import trigemu.api

from .config import (
    Config as Config,
    ConfigError as ConfigError,
    Slice as Slice,
    load_config as load_config,
    shipped as shipped,
)
from .events import EventColumns as EventColumns
from .run import (
    INTERACTIONS as INTERACTIONS,
    generate as generate,
    generate_interactions as generate_interactions,
    tune as tune,
)
from .tuning import tuning_table as tuning_table

PLUGIN: trigemu.api.Plugin
