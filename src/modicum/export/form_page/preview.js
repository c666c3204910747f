// Before anything is sent: exactly what, and what stays here.

function listed(names) {
  return names.map((name) => questionOf(subjectOf.get(name))).join(" · ");
}

// The buckets that a record leaves possible of an attribute; null where its exact value is told.
function codesTold(subject, value) {
  if (fullDetail(subject)) return null;
  if (Array.isArray(value)) return value.map((label) => subject.labels.indexOf(label));
  const pairs = page.told?.[subject.index];
  return pairs ? pairs.find(([label]) => label === value)[1] : [subject.labels.indexOf(value)];
}

function toldWords(subject, value) {
  const codes = codesTold(subject, value);
  if (codes === null) return { text: fullText(subject, value), members: [] };
  if (codes.length === subject.labels.length && codes.length > 1) return { text: say("nothingTold"), members: [] };
  return wordsOf(subject, codes);
}

function fullText(subject, value) {
  if (value === null) return say("noAnswer");
  return subject.kind === "date" ? dateText(secondsOf(value)) : numberText(value);
}

function previewTable(record) {
  const rows = Object.entries(record).map(([name, value]) => {
    const subject = subjectOf.get(name);
    const { text, members } = toldWords(subject, value);
    const more = members.length ? moreOf(members.map((each) => valueText(subject, each)), MEMBERS_LISTED) : null;
    const cell = element("td", {}, wordsElement(subject, text), more && foreign("small", more, { class: "members" }));
    return element("tr", {}, foreign("th", questionOf(subject), { scope: "row" }), cell);
  });
  if (rows.length === 0) return element("p", {}, say("previewNone"));
  const head = element("tr", {}, ...["question", "sent"].map((key) => element("th", { scope: "col" }, say(key))));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
}

function staying(record) {
  const sent = new Map(Object.entries(record));
  const exact = [...typed];
  const unsent = [...answers.keys()].filter((name) => !sent.has(name) || toldNothing(name, sent.get(name)));
  const left = [...answers.keys()].filter((name) => !unsent.includes(name));
  const coarser = left.filter((name) => coarserThanSaid(name, sent.get(name)));
  const unasked = subjects.map(({ name }) => name).filter((name) => !answers.has(name) && !sent.has(name));
  const lines = [
    ["staysExact", exact],
    ["staysAnswers", unsent],
    ["staysCoarser", coarser],
    ["staysNotAsked", unasked],
  ];
  const said = lines.filter(([, names]) => names.length > 0);
  const items = said.map(([key, names]) => foreign("li", say(key, { names: listed(names) })));
  return element("ul", {}, ...items, element("li", {}, say("staysAll")));
}

function toldNothing(name, value) {
  const subject = subjectOf.get(name);
  return kind === "cells" && !fullDetail(subject) && codesTold(subject, value).length === subject.labels.length;
}

function coarserThanSaid(name, value) {
  const codes = codesTold(subjectOf.get(name), value);
  return codes !== null && codes.length > answers.get(name).codes.length;
}

function jsonDetails(text) {
  const pre = element("pre", { tabindex: "0", role: "region", "aria-label": say("json") }, text);
  const notes = page.endpoint === null ? ["identity"] : ["identity", "randomId"];
  const said = notes.map((key) => element("p", { class: "soft" }, say(key)));
  return element("details", { class: "json" }, element("summary", {}, say("json")), ...said, pre);
}
