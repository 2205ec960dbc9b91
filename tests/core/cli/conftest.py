from commands import place as place
from commands import root_file as root_file
from commands import trigemu as trigemu
