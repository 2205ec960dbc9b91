"""Networks of hls4ml projects, such as AXOL1TL, CICADA and TOPO of the CMS Level-1 trigger, as cards."""
