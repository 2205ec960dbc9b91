from plugin_toys import forget as forget
