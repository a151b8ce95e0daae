// What a search lists first: a page on a task whose title has all words, then the reference.
var Scorer = (() => {
  // K is the number of clusters, but not in "K-means".
  const asked = (new URLSearchParams(window.location.search).get("q") || "").toLowerCase()
    .replace(/\bk\b(?!-)/g, "number of clusters");
  const words = asked.split(/[^a-z0-9_]+/).filter((word) => word.length > 2);
  const has_all = (title) => words.length > 0 && words.every((word) => title.toLowerCase().includes(word));
  const place = (docname, anchor) =>
    docname === "guide/faq" ? (anchor ? 0 : -20)
    : /^guide\//.test(docname) ? 12
    : /^derivations\//.test(docname) ? -8
    : /^api\//.test(docname) ? -6
    : 0;
  return {
    score: ([docname, title, anchor, description, score]) =>
      score + place(docname, anchor) + (has_all(title) ? (anchor ? 20 : 40) : 0),
    objNameMatch: 11,
    objPartialMatch: 6,
    objPrio: { 0: 15, 1: 5, 2: -5 },
    objPrioDefault: 0,
    title: 25,
    partialTitle: 12,
    term: 5,
    partialTerm: 2,
  };
})();
