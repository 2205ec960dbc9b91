from commands import trigemu as trigemu
