import trigemu.api

from .challenge import Challenge as Challenge
from .delphes import Delphes as Delphes
from .parquet import Parquet as Parquet
from .physlite import Physlite as Physlite

PLUGIN: trigemu.api.Plugin
