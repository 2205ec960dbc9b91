from . import options as options
from .entry import main as main
