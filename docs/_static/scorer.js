// What a search lists first: pages on a task, then the reference, then derivations.
const place = (docname) =>
  /^(guide|about)\//.test(docname) ? 12 : /^derivations\//.test(docname) ? -8 : /^api\//.test(docname) ? 2 : 0;
var Scorer = {
  score: (result) => result[4] + place(result[0]),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 25,
  partialTitle: 12,
  term: 5,
  partialTerm: 2,
};
