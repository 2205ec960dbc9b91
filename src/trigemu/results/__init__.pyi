from . import notes as notes, numbers as numbers
