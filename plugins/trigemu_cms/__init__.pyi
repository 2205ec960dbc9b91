import trigemu.api

from .l1 import import_cms_l1 as import_cms_l1
from .l1_conditions import AsEmulated as AsEmulated
from .phase2 import import_cms_phase2 as import_cms_phase2
from .vectors import CMSVector as CMSVector

PLUGIN: trigemu.api.Plugin
