from plugin_toys import carded as carded
from plugin_toys import forget as forget
