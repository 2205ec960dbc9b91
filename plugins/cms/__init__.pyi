import trigemu.api

from .cms_l1 import import_cms_l1 as import_cms_l1
from .cms_l1_conditions import AsEmulated as AsEmulated
from .cms_phase2 import import_cms_phase2 as import_cms_phase2
from .cms_vector import CMSVector as CMSVector
from .pairs import find_pairs as find_pairs, read_menu_of as read_menu_of

PLUGIN: trigemu.api.Plugin
