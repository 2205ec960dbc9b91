from decade_fixtures import (
    booster as booster,
    catalogue as catalogue,
    fresh_cache as fresh_cache,
    models as models,
    no_compiler as no_compiler,
    no_tables as no_tables,
    own_cache as own_cache,
    plain_events as plain_events,
)
