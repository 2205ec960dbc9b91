from commands import place as place, root_file as root_file, trigemu as trigemu
