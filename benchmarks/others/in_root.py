"""The rates of a menu with RDataFrame: C++ functions compiled when they are first used."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("EXTRA_CLING_ARGS", "-O2")  # ROOT's default optimises less: 1.7 × slower
import ROOT
from patterns import Patterns, counted

SELECTED = """
using ROOT::RVecD;
using ROOT::RVecF;

double delta_r(double eta1, double phi1, double eta2, double phi2) {
   return std::hypot(eta1 - eta2, std::remainder(phi1 - phi2, 2 * M_PI));
}

ROOT::RVecB isolated(const RVecF &pt, const RVecF &eta, const RVecF &phi,
                     const RVecF &photon_pt, const RVecF &photon_eta, const RVecF &photon_phi) {
   ROOT::RVecB kept(pt.size());
   for (std::size_t i = 0; i < pt.size(); i++) {
      kept[i] = pt[i] >= 20;
      for (std::size_t j = 0; kept[i] && j < photon_pt.size(); j++)
         kept[i] = delta_r(eta[i], phi[i], photon_eta[j], photon_phi[j]) >= 0.4;
   }
   return kept;
}

double leading(const RVecF &pt, std::size_t number = 0) { return pt.size() > number ? pt[number] : 0; }
"""

BY_HAND = """
int by_hand(const RVecF &pt, const RVecF &eta, const RVecF &phi,
            const RVecF &photon_pt, const RVecF &photon_eta, const RVecF &photon_phi) {
   bool jet = false;
   for (std::size_t i = 0; i < pt.size() && pt[i] > 100 && !jet; i++) {
      jet = true;
      for (std::size_t j = 0; jet && j < photon_pt.size() && photon_pt[j] >= 10; j++)
         jet = delta_r(eta[i], phi[i], photon_eta[j], photon_phi[j]) >= 0.4;
   }
   return jet + 2 * (leading(photon_pt) > 30);
}
"""

FULL = """
struct Objects { RVecD pt, eta, phi; ROOT::RVecI charge; };

Objects objects(const RVecF &pt, const RVecF &eta, const RVecF &phi, const ROOT::RVecI &charge = {}) {
   return {RVecD(pt.begin(), pt.end()), RVecD(eta.begin(), eta.end()), RVecD(phi.begin(), phi.end()), charge};
}

double pt(const Objects &o, std::size_t n = 0) { return o.pt.size() > n ? o.pt[n] : 0; }

double mass(const Objects &a, int i, const Objects &b, int j) {
   double square = 2 * a.pt[i] * b.pt[j] * (std::cosh(a.eta[i] - b.eta[j]) - std::cos(a.phi[i] - b.phi[j]));
   return square > 0 ? std::sqrt(square) : 0;
}

template <typename F>
bool any_pair(const Objects &a, double pt_a, const Objects &b, double pt_b, F passes) {
   for (std::size_t i = 0; i < a.pt.size(); i++)
      for (std::size_t j = &a == &b ? i + 1 : 0; j < b.pt.size(); j++)
         if (a.pt[i] >= pt_a && b.pt[j] >= pt_b && passes(i, j)) return true;
   return false;
}

int decide(const Objects &jets, const Objects &photons, const Objects &electrons, const Objects &muons,
           double met, double met_phi) {
   double ht = ROOT::VecOps::Sum(jets.pt) + ROOT::VecOps::Sum(photons.pt), forward = 0;
   double x = ROOT::VecOps::Sum(jets.pt * cos(jets.phi)), y = ROOT::VecOps::Sum(jets.pt * sin(jets.phi));
   int central = 0;
   for (std::size_t i = 0; i < jets.pt.size(); i++) {
      central += std::abs(jets.eta[i]) <= 2.4;
      if (std::abs(jets.eta[i]) >= 3 && forward == 0) forward = jets.pt[i];
   }
   double jet = pt(jets), photon = pt(photons), muon = pt(muons);
   auto near = [&](const Objects &a, int i, const Objects &b, int j) {
      return delta_r(a.eta[i], a.phi[i], b.eta[j], b.phi[j]);
   };
   auto is_central = [&](int j) { return std::abs(jets.eta[j]) <= 2.4; };
   bool mu6_j40 = any_pair(muons, 6, jets, 40, [&](int i, int j) {
      return is_central(j) && near(muons, i, jets, j) <= 0.5;
   });
   bool fired[] = {
      jet > 40, jet > 60, jet > 80, jet > 100, pt(jets, 1) > 70, pt(jets, 2) > 50, pt(jets, 3) > 35,
      forward > 70,
      any_pair(jets, 40, jets, 40, [&](int i, int j) {
         return std::abs(jets.eta[i] - jets.eta[j]) >= 3 && mass(jets, i, jets, j) >= 600;
      }),
      photon > 15, photon > 30, pt(photons, 1) > 10,
      pt(photons, 1) > 15 && mass(photons, 0, photons, 1) > 30,
      any_pair(photons, 20, jets, 30, [&](int i, int j) {
         return is_central(j) && near(photons, i, jets, j) >= 1;
      }),
      pt(electrons) > 22, pt(electrons, 1) > 10,
      any_pair(electrons, 12, photons, 12, [&](int i, int j) {
         return near(electrons, i, photons, j) >= 0.4;
      }),
      muon > 4, muon > 14, pt(muons, 1) > 4,
      any_pair(muons, 4, muons, 4, [&](int i, int j) {
         double m = mass(muons, i, muons, j);
         bool opposite = muons.charge[i] * muons.charge[j] < 0;
         return muons.pt[i] > 4 && muons.pt[j] > 4 && opposite && m >= 7 && m <= 18;
      }),
      mu6_j40, muon >= 5 && photon >= 12, muon >= 5 && pt(electrons) >= 10,
      ht > 220, std::hypot(x, y) > 80, met > 100,
      met > 60 && jet > 50 && std::abs(std::remainder(jets.phi[0] - met_phi, 2 * M_PI)) > 1,
      jet > 100 && !(ht > 220), central > 1 && (muon > 14 || mu6_j40),
   };
   int bits = 0;
   for (std::size_t i = 0; i < std::size(fired); i++) bits |= fired[i] << i;
   return bits;
}
"""


def selected(path: Path) -> ROOT.RDataFrame:
    """Return the events with the jets and photons of the menus."""
    frame = ROOT.RDataFrame("Events", str(path)).Define("is_photon", "Photon_pt >= 10")
    for column in ("pt", "eta", "phi"):
        frame = frame.Define(f"photon_{column}", f"Photon_{column}[is_photon]")
    frame = frame.Define("is_jet", "isolated(Jet_pt, Jet_eta, Jet_phi, photon_pt, photon_eta, photon_phi)")
    for column in ("pt", "eta", "phi"):
        frame = frame.Define(f"jet_{column}", f"Jet_{column}[is_jet]")
    return frame


def primary(path: Path) -> ROOT.RDataFrame:
    return selected(path).Define("bits", "(leading(jet_pt) > 100) + 2 * (leading(photon_pt) > 30)")


def by_hand(path: Path) -> ROOT.RDataFrame:
    """Decide the primary menu in one C++ function, with as little work per event as it needs."""
    columns = ", ".join(f"{name}_{column}" for name in ("Jet", "Photon") for column in ("pt", "eta", "phi"))
    return ROOT.RDataFrame("Events", str(path)).Define("bits", f"by_hand({columns})")


def full(path: Path) -> ROOT.RDataFrame:
    frame = selected(path).Define("jets", "objects(jet_pt, jet_eta, jet_phi)")
    frame = frame.Define("photons", "objects(photon_pt, photon_eta, photon_phi)")
    for name in ("Electron", "Muon"):
        columns = ", ".join(f"{name}_{column}" for column in ("pt", "eta", "phi", "charge"))
        frame = frame.Define(f"{name.lower()}s", f"objects({columns})")
    return frame.Define("bits", "decide(jets, photons, electrons, muons, MET_pt, MET_phi)")


DECISIONS = {"primary": primary, "by_hand": by_hand, "full": full}
ROOT.gInterpreter.Declare(SELECTED + BY_HAND + FULL)


def patterns(path: Path, menu: str, threads: int) -> Patterns:
    """Sum the weights in a ROOT file by pattern: those of two triggers in a histogram."""
    if threads > 1:
        ROOT.EnableImplicitMT(threads)
    frame = DECISIONS[menu](path)
    if menu == "full":
        return _of_columns(frame)
    sums = frame.Histo1D(("", "", 4, -0.5, 3.5), "bits", "genWeight")
    return {bits: sums.GetBinContent(bits + 1) for bits in range(4)}


def _of_columns(frame: ROOT.RDataFrame) -> Patterns:
    columns = frame.AsNumpy(["bits", "genWeight"])
    return counted(columns["bits"], columns["genWeight"])
