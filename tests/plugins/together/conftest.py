from decade_fixtures import booster as booster
from decade_fixtures import catalogue as catalogue
from decade_fixtures import fresh_cache as fresh_cache
from decade_fixtures import models as models
from decade_fixtures import no_compiler as no_compiler
from decade_fixtures import no_tables as no_tables
from decade_fixtures import own_cache as own_cache
from decade_fixtures import plain_events as plain_events
