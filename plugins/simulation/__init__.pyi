import trigemu.api

from .config import Config as Config
from .config import ConfigError as ConfigError
from .config import Slice as Slice
from .config import load_config as load_config
from .config import shipped as shipped
from .events import EventColumns as EventColumns
from .run import INTERACTIONS as INTERACTIONS
from .run import generate as generate
from .run import generate_interactions as generate_interactions
from .run import tune as tune
from .tuning import tuning_table as tuning_table

PLUGIN: trigemu.api.Plugin
