from . import options as options
from .commands import main as main
