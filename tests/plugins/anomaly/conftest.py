from decade_fixtures import (
    booster as booster,
    compiler as compiler,
    fresh_cache as fresh_cache,
    no_compiler as no_compiler,
    no_tables as no_tables,
    own_cache as own_cache,
)
