// Buckets in plain words, from their edges and members.

const MEMBERS_SHOWN = 12; // of a group; its words list them up to here, then small print
const MEMBERS_LISTED = 40;
const DAY = 86400;
const subjects = attributes.map((attribute, index) => ({
  ...attribute, index, wording: page.wording[index], labels: labelsOf(attribute),
}));
const subjectOf = new Map(subjects.map((subject) => [subject.name, subject]));
const figures = new Intl.NumberFormat(strings.language, { maximumFractionDigits: 20, useGrouping: "min2" });
const days = new Intl.DateTimeFormat(strings.language, { dateStyle: "long", timeZone: "UTC" });
const moments = new Intl.DateTimeFormat(strings.language, { dateStyle: "long", timeStyle: "medium", timeZone: "UTC" });

// The labels of all codes as they travel: buckets, then (other), then (missing), where these have codes of their own.
function labelsOf({ buckets, other, missing }) {
  const own = new Set((buckets ?? []).map((bucket) => bucket.label));
  return [...own, ...[other, missing].filter((label) => label !== null && !own.has(label))];
}

function nameOf(subject) {
  const readable = subject.name.replace(/[-_.\s]+/g, " ").trim() || subject.name || say("empty");
  return readable.charAt(0).toLocaleUpperCase(strings.language) + readable.slice(1);
}

function questionOf(subject) {
  return subject.question || nameOf(subject);
}

function numberText(value) {
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-6 || size >= 1e21) ? String(value) : figures.format(value);
}

function dateText(seconds) {
  return (seconds % DAY === 0 ? days : moments).format(new Date(seconds * 1000));
}

function valueText(subject, value) {
  if (subject.storage === "boolean" && (value === "true" || value === "false")) {
    return say(value === "true" ? "yes" : "no");
  }
  return /[^\p{C}\p{Z}]/u.test(value) ? value : [say("empty"), ...[...value].map(codePoint)].join(" ");
}

// A character that cannot be seen, by its number: U+2028.
function codePoint(letter) {
  return `U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

// The range low < x <= high; null for an open end. Whole numbers and days are named by their first and last.
function rangeText(subject, low, high) {
  if (low === null && high === null) return say("anyValue");
  if (subject.kind === "date") return subject.storage === "date" ? dayRange(low, high) : momentRange(low, high);
  const whole = subject.storage === "integer" ? wholeRange(subject, low, high) : null;
  if (whole !== null) return whole;
  if (low === null) return say("atMost", { high: numberText(high) });
  if (high === null) return say("moreThan", { low: numberText(low) });
  return say("moreThanUpTo", { low: numberText(low), high: numberText(high) });
}

function wholeRange(subject, low, high) {
  const first = low === null ? null : Math.floor(low) + 1;
  const last = high === null ? null : Math.floor(high);
  if (first === null) {
    const lowest = subject.domain ? subject.domain[0] : null;
    if (lowest === last) return numberText(last);
    return last === 0 ? say("atMost", { high: numberText(0) }) : say("lessThan", { high: numberText(last + 1) });
  }
  if (last === null) return say("atLeast", { low: numberText(first) });
  if (first > last) return null;
  return first === last ? numberText(first) : say("range", { low: numberText(first), high: numberText(last) });
}

function dayRange(low, high) {
  const first = low === null ? null : (Math.floor(low / DAY) + 1) * DAY;
  const last = high === null ? null : Math.floor(high / DAY) * DAY;
  if (first === null) return say("dateBefore", { high: dateText(last + DAY) });
  if (last === null) return say("dateFrom", { low: dateText(first) });
  if (first > last) return momentRange(low, high);
  return first === last ? dateText(first) : say("range", { low: dateText(first), high: dateText(last) });
}

function momentRange(low, high) {
  if (low === null) return say("dateUpTo", { high: dateText(high) });
  if (high === null) return say("dateAfter", { low: dateText(low) });
  return say("dateAfterUpTo", { low: dateText(low), high: dateText(high) });
}

const alternatives = new Intl.ListFormat(strings.language, { type: "disjunction" });

function either(words) {
  return words.length === 1 ? words[0] : alternatives.format(apart(words));
}

// Words of different directions in one sentence are kept from turning each other round.
function apart(words) {
  const turning = /[\u0590-\u08ff\u202a-\u202e\ufb1d-\ufefc]/;
  const mixed = strings.direction === "rtl" || words.some((word) => turning.test(word));
  return mixed ? words.map((word) => `\u2068${word}\u2069`) : words;
}

// Of yes and no: the one that no bucket names, which "something else" then is; null where both are named, "" elsewhere.
function unnamedTruth(subject) {
  if (subject.storage !== "boolean" || subject.buckets.some((bucket) => !("values" in bucket))) return "";
  const named = new Set(subject.buckets.flatMap((bucket) => bucket.values));
  return ["false", "true"].find((value) => !named.has(value)) ?? null;
}

// The codes that some answer can have: there is nothing else beside yes and no.
function possible(subject, codes) {
  if (unnamedTruth(subject) !== null) return codes;
  return codes.filter((code) => code < subject.buckets.length || subject.labels[code] === subject.missing);
}

// Codes in words: {text, members}; members are the categories they hold where the text does not say them all.
function wordsOf(subject, every) {
  const codes = possible(subject, every);
  const count = subject.buckets.length;
  const own = codes.filter((code) => code < count).sort((a, b) => a - b);
  const special = codes.filter((code) => code >= count).map((code) => specialText(subject, code, codes.length > 1));
  const worded = "values" in subject.buckets[0] ? groups : ranges;
  const { texts, members } = worded(subject, own);
  return { text: either([...texts, ...special]), members };
}

function specialText(subject, code, among) {
  const missing = subject.labels[code] === subject.missing;
  const truth = missing ? "" : unnamedTruth(subject);
  if (truth) return valueText(subject, truth);
  return say(among ? (missing ? "missingAmong" : "otherAmong") : missing ? "missing" : "other");
}

function ranges(subject, codes) {
  const texts = [];
  for (let at = 0; at < codes.length; ) {
    let end = at;
    while (end + 1 < codes.length && codes[end + 1] === codes[end] + 1) end += 1;
    const name = at === end ? subject.wording[codes[at]] : null;
    const low = codes[at] === 0 ? null : subject.buckets[codes[at] - 1].upTo;
    texts.push(name ?? rangeText(subject, low, subject.buckets[codes[end]].upTo));
    at = end + 1;
  }
  return { texts, members: [] };
}

function groups(subject, codes) {
  const members = codes.flatMap((code) => subject.buckets[code].values);
  const shown = members.map((value) => valueText(subject, value));
  const name = codes.length === 1 ? subject.wording[codes[0]] : null;
  if (name === true) return { texts: [say("range", { low: shown[0], high: shown[shown.length - 1] })], members };
  if (typeof name === "string") return { texts: [name], members: members.length > 1 ? members : [] };
  if (members.length <= MEMBERS_SHOWN) return { texts: shown, members: [] };
  return { texts: [moreOf(shown, 3)], members };
}

function moreOf(words, limit) {
  const shown = apart(words.slice(0, limit)).join(", ");
  if (words.length <= limit) return shown;
  return `${shown} ${say("moreMembers", { count: numberText(words.length - limit) })}`;
}
