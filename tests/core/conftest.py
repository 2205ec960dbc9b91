from plugin_toys import carded as carded, forget as forget
