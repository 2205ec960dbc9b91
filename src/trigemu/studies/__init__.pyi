from .columns_in_files import (
    Example as Example,
    FileColumn as FileColumn,
    FileColumns as FileColumns,
    file_columns as file_columns,
)
from .comparison import (
    Change as Change,
    Common as Common,
    Comparison as Comparison,
    Difference as Difference,
    Gain as Gain,
    compare as compare,
)
from .efficiency import Efficiencies as Efficiencies, Turnon as Turnon, efficiencies as efficiencies
from .efficiency_profiles import (
    Category as Category,
    Observable as Observable,
    ProfileSet as ProfileSet,
    Reference as Reference,
    parse_bins as parse_bins,
    read_profiles as read_profiles,
)
from .exclusive import (
    ExclusiveRate as ExclusiveRate,
    ExclusiveRates as ExclusiveRates,
    exclusive_rates as exclusive_rates,
)
from .intervals import Curve as Curve, Overall as Overall, Profile as Profile
from .rates_in_bins import Bin as Bin, BinnedRates as BinnedRates, binned_rates as binned_rates
from .ratios import Ratio as Ratio, ratios_to as ratios_to
from .scan_steps import Steps as Steps, parse_values as parse_values, steps_of as steps_of
from .spectra import Quantity as Quantity, Spectrum as Spectrum, sample_spectra as sample_spectra
from .threshold_scan import (
    BudgetBracket as BudgetBracket,
    Scan as Scan,
    budget_brackets as budget_brackets,
    scan as scan,
)
from .turnon_bins import SignalBins as SignalBins, signal_bins as signal_bins
