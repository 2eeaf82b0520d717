"""The papers that the algorithms come from; each of the five source papers has a folder with its experiments."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Paper:
    """A publication.

    Attributes:
        key: its name here and in BibTeX.
        citation: the publication in one line.
    """

    key: str
    citation: str

    def bibtex(self) -> str:
        """The BibTeX entry.

        Example:
            >>> print(PAPERS["auer2002"].bibtex().splitlines()[0])
            @article{auer2002,
        """
        entries = (files("evenhand.papers") / "papers.bib").read_text(encoding="utf-8").split("\n\n")
        return next(entry.strip() for entry in entries if f"{{{self.key}," in entry)


PAPERS: dict[str, Paper] = {
    key: Paper(key, citation)
    for key, citation in {
        "agrawal2012": "S. Agrawal, N. Goyal: Analysis of Thompson Sampling for the Multi-armed Bandit Problem. "
        "COLT 2012",
        "auer2002": "P. Auer, N. Cesa-Bianchi, P. Fischer: Finite-time Analysis of the Multiarmed Bandit Problem. "
        "Machine Learning 47, 2002",
        "auer2002nonstochastic": "P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire: The Nonstochastic Multiarmed "
        "Bandit Problem. SIAM Journal on Computing 32(1), 2002",
        "cesabianchi2018": "N. Cesa-Bianchi, C. Gentile, Y. Mansour: Nonstochastic Bandits with Composite Anonymous "
        "Feedback. COLT 2018",
        "chen2013": "W. Chen, Y. Wang, Y. Yuan: Combinatorial Multi-Armed Bandit: General Framework and Applications. "
        "ICML 2013",
        "chen2024": "Z. Chen, L. Cai, J. Pan: Merit-based Fair Combinatorial Semi-Bandit with Unrestricted Feedback "
        "Delays. 2024",
        "fang2022": "G. Fang, P. Li, G. Samorodnitsky: On Penalization in Stochastic Multi-armed Bandits. 2022",
        "garivier2016": "A. Garivier, T. Lattimore, E. Kaufmann: On Explore-Then-Commit Strategies. NeurIPS 2016",
        "huang2020": "Z. Huang, Y. Xu, B. Hu, Q. Wang, J. Pan: Thompson Sampling for Combinatorial Semi-bandits with "
        "Sleeping Arms and Long-Term Fairness Constraints. 2020",
        "komiyama2015": "J. Komiyama, J. Honda, H. Nakagawa: Optimal Regret Analysis of Thompson Sampling in "
        "Stochastic Multi-armed Bandit Problem with Multiple Plays. ICML 2015",
        "lancewicki2021": "T. Lancewicki, S. Segal, T. Koren, Y. Mansour: Stochastic Multi-Armed Bandits with "
        "Unrestricted Delay Distributions. ICML 2021",
        "li2019": "F. Li, J. Liu, B. Ji: Combinatorial Sleeping Bandits with Fairness Constraints. IEEE INFOCOM 2019",
        "patil2019": "V. Patil, G. Ghalme, V. Nair, Y. Narahari: Stochastic Multi-armed Bandits with Arm-specific "
        "Fairness Guarantees. 2019",
        "pikeburke2018": "C. Pike-Burke, S. Agrawal, C. Szepesvári, S. Grünewälder: Bandits with Delayed, Aggregated "
        "Anonymous Feedback. ICML 2018",
        "wang2021": "S. Wang, H. Wang, L. Huang: Adaptive Algorithms for Multi-armed Bandit with Composite and "
        "Anonymous Feedback. AAAI 2021",
        "wang2021fairx": "L. Wang, Y. Bai, W. Sun, T. Joachims: Fairness of Exposure in Stochastic Bandits. ICML 2021",
    }.items()
}
