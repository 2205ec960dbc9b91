from commands import document as document, place as place, root_file as root_file, trigemu as trigemu
