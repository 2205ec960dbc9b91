from .calibrated import write_calibrated as write_calibrated
from .menu import (
    Budget as Budget,
    Menu as Menu,
    PrescaleColumns as PrescaleColumns,
    Solution as Solution,
    Trigger as Trigger,
    Unfed as Unfed,
    named_apart as named_apart,
    own_prescale as own_prescale,
)
from .menus_like import MenuLike as MenuLike, MenusLike as MenusLike, menu_of as menu_of, menus_of as menus_of
from .misread import lost_prescales as lost_prescales, signed_differences as signed_differences
from .prescales import (
    ALL_COLUMNS as ALL_COLUMNS,
    at_column as at_column,
    at_own_column as at_own_column,
    chosen_columns as chosen_columns,
    no_column as no_column,
    read_prescales as read_prescales,
)
from .read import read_menu as read_menu
from .schema import menu_schema as menu_schema
from .units import unit_of_observable as unit_of_observable, unit_of_threshold as unit_of_threshold
from .variation import number_path as number_path, with_values as with_values
