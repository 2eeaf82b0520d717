// Pages that explain come before the names and attributes of the API; a page whose title has the word comes first.
'use strict';

const EXPLAINS = /^(concepts|paths|howto|which-policy|fair|troubleshooting|reference\/algorithms)/;
const stem = (new URLSearchParams(location.search).get('q') ?? '').trim().toLowerCase().slice(0, 6);

var Scorer = {
  score: ([docname, title, anchor, description, score]) => Math.min(score, 50) + (EXPLAINS.test(docname) ? 20 : 0)
    + (EXPLAINS.test(docname) && stem && title.toLowerCase().startsWith(stem) ? 30 : 0)
    - (docname.startsWith('reference/api/') ? 10 : 0),
  objNameMatch: 4,
  objPartialMatch: 1,
  objPrio: { 0: 3, 1: 1, 2: -5 },
  objPrioDefault: 0,
  title: 25,
  partialTitle: 15,
  term: 5,
  partialTerm: 2,
};
