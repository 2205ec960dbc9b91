"""From XML and test vector to decisions: equal to a slow twin that is independent of TOML and kinds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from l1_toys import calorimeter, jet, muon, vector_line, write_menu
from l1_twin import Crossing, Twin, Word
from trigemu_cms import AsEmulated, import_cms_l1
from trigemu_cms.l1_grammar import parse
from trigemu_cms.l1_xml import read_xml
from trigemu_validation import check_decisions

from trigemu import catalogue_of
from trigemu.base.mapping import Engine

EXPRESSIONS = [
    "MU5[MU-QLTY_SNGL,MU-ETA_1p2]",
    "MU0[MU-PHI_RIGHT] AND MU0[MU-PHI_LEFT]",
    "MU0[MU-CHG_NEG,MU-INDEX_NEG,MU-INDEX_POS]",
    "EG.eq.10p5",
    "JET20[JET-ETA_FWD_NEG,JET-ETA_FWD_POS] XOR EG20[EG-ISO_0xA]",
    "JET40-1[JET-SLICE_0_1] AND NOT JET40+2",
    "EXT_BPTX_AND.v0-2 OR EXT_CASTOR_2+1",
    "ETM20",
    "comb{JET40,JET30,JET20[JET-ETA_CEN]}",
    "comb{MU0,MU0}[CHGCOR_OS]",
    "comb{MU0,MU0,MU0}[CHGCOR_OS]",
    "dist{JET20,MU0}[DETA_MAX_1p5,DPHI_MIN_1]",
    "dist{MU0,MU0-1}[DR_MAX_0p8]",
    "dist{EG10,TAU20}[DR_MAX_0p8]",
    "dist{ETM20,MU3}[DPHI_MIN_1]",
    "dist{JET20,JET20+1}[DPHI_MIN_1,DETA_MAX_1p5]",
    "mass_inv{JET20,JET20}[MASS_MIN_40,DETA_MAX_1p5]",
    "mass_inv{MU0,MU0}[MASS_MAX_12,CHGCOR_OS]",
    "mass_inv{MU0,EG10}[MASS_MIN_40,TBPT_20]",
    "mass_trv{EG10,ETM10}[MASS_MIN_40]",
    "mass_inv_dr{MU0,MU0}[MASSDR_4]",
    "mass_inv_dr{MU0,EG10}[MASSDR_4]",
    "MU0[MU-ETA_NEG_er1p2]",
    "mass_inv_3{MU0,MU0,MU0}[MASS_MAX_12]",
    "comb_orm{TAU10,TAU10,JET20}[ORMDR_0p5]",
    "mass_inv_orm{JET20,JET20,TAU10}[MASS_MIN_40,ORMDR_0p5]",
    "dist_orm{JET20,EG10}[DPHI_MIN_1,ORMDR_0p5]",
]


def toy_crossing(rng: random.Random) -> tuple[dict[str, list[int] | int], Crossing]:
    """The words of a line, and the same numbers for the twin; objects are often close to each other."""

    def numbers(bins: int, edge: int, most: int) -> list[tuple[int, int, int]]:
        count = rng.randrange(5)
        near, width = rng.randrange(bins), rng.choice((bins // 8, bins))
        return [
            (rng.randrange(1, most), rng.randrange(-edge, edge), (near + rng.randrange(width)) % bins)
            for _ in range(count)
        ]

    muons = [
        (*kinematics, rng.choice((4, 8, 12)), rng.choice((-1, 1, 1, 0)), rng.randrange(108))
        for kinematics in numbers(576, 60, 40)
    ]
    calo = {name: [(*k, rng.randrange(4)) for k in numbers(144, 40, 90)] for name in ("EG", "TAU")}
    jets = numbers(144, 110, 150)
    etm = (rng.randrange(150), rng.randrange(144))
    external = rng.getrandbits(256)
    line: dict[str, list[int] | int] = {
        "muons": [muon(pt, eta, phi, q, charge, index) for pt, eta, phi, q, charge, index in muons],
        "egammas": [calorimeter(*o) for o in calo["EG"]],
        "taus": [calorimeter(*o) for o in calo["TAU"]],
        "jets": [jet(*o) for o in jets],
        "sums": [0, 0, etm[0] | etm[1] << 12],
        "external": external,
    }

    def words(objects: list[tuple[int, ...]], *names: str) -> list[Word]:
        return [
            dict(zip(("pt", "eta", "phi", *names), o, strict=True)) | {"SLICE": i}
            for i, o in enumerate(objects)
        ]

    twin: Crossing = {
        "MU": words(list(muons), "QLTY", "charge", "INDEX"),
        "EG": words(list(calo["EG"]), "ISO"),
        "TAU": words(list(calo["TAU"]), "ISO"),
        "JET": words(list(jets)),
        "ETM": [{"pt": etm[0], "phi": etm[1], "SLICE": 0}],
        "EXT": external,
    }
    return line, twin


@pytest.mark.parametrize(("seed", "any_overlap_vetoes"), [(0, False), (2, True)])
def test_every_function_decides_as_the_twin(tmp_path: Path, seed: int, any_overlap_vetoes: bool) -> None:
    rng = random.Random(seed)
    crossings = [toy_crossing(rng) for _ in range(150)]
    xml = write_menu(tmp_path, EXPRESSIONS)
    menu = read_xml(xml)
    twin = Twin(menu, [words for _, words in crossings], any_overlap_vetoes)
    stored = [0] * len(crossings)
    for algorithm in menu.algorithms:
        term = parse(algorithm.expression)
        fired = [twin.fires(term, dict(algorithm.cuts), at) for at in range(len(crossings))]
        assert 0 < sum(fired) < len(fired), algorithm.expression
        for at, on in enumerate(fired):
            stored[at] |= on << algorithm.index
    lines = [
        vector_line(i, **line, algorithms=bits)  # type: ignore[arg-type]
        for i, ((line, _), bits) in enumerate(zip(crossings, stored, strict=True))
    ]
    (tmp_path / "vector.txt").write_text("\n".join(lines))
    result = check_decisions(
        import_cms_l1(xml, AsEmulated(any_overlap_vetoes=any_overlap_vetoes)).menu,
        catalogue_of(tmp_path / "vector.txt"),
        executor=Engine(chunk_events=40),
    )
    names = dict(zip((a.name for a in menu.algorithms), EXPRESSIONS, strict=True))
    assert {names[t.name]: (t.differ, t.skipped) for t in result.triggers if t.differ or t.skipped} == {}
