// Names for several buckets together, in the words that Python uses.

const numberText = (value) => {
  if (typeof value === "bigint") {
    return value < 10n ** 16n && value > -(10n ** 16n) ? value.toString() : repr(Number(value));
  }
  return Number.isInteger(value) && Math.abs(value) < 1e16 ? BigInt(value).toString() : repr(value);
};

const range = (low, high) => (`${low}${high}`.includes("-") ? `${low} to ${high}` : `${low}\u2013${high}`);

const wholeLabel = (low, high, unit, text) => {
  const first = low === null ? null : (BigInt(Math.floor(low / unit)) + 1n) * BigInt(unit);
  const last = high === null ? null : BigInt(Math.floor(high / unit)) * BigInt(unit);
  if (first === null) return `\u2264 ${text(last)}`;
  if (last === null) return `\u2265 ${text(first)}`;
  if (first > last) return null;
  return first === last ? text(first) : range(text(first), text(last));
};

const intervalLabel = (low, high, { kind, storage }) => {
  if (low === null && high === null) return "any value";
  const text = kind === "date" ? (value) => iso(Number(value)) : numberText;
  if (storage === "integer" || storage === "date") {
    const named = wholeLabel(low, high, storage === "date" ? 86400 : 1, text);
    if (named !== null) return named;
  }
  if (low === null) return `\u2264 ${text(high)}`;
  return high === null ? `> ${text(low)}` : range(text(low), text(high));
};

const LONGEST = 60;
const length = (text) => [...text].length;

const ancestorOf = (values, ancestors) => {
  const found = ancestors.find(([, members]) => {
    if (members.length !== values.length) return false;
    const own = new Set(values);
    return members.every((member) => own.has(member));
  });
  return found === undefined ? null : found[0];
};

const areNeighbours = (values, order) => {
  const start = order.indexOf(values[0]);
  return start >= 0 && values.every((value, i) => value === order[start + i]);
};

const groupLabel = (values, { kind, words }) => {
  const ancestor = values.length > 1 ? ancestorOf(values, words.ancestors) : null;
  if (ancestor !== null) return ancestor;
  if (kind === "ordered" && values.length > 2 && areNeighbours(values, words.order)) {
    const [low, high] = [values[0], values[values.length - 1]];
    const digits = words.digits.includes(low) && words.digits.includes(high);
    return digits ? range(low, high) : `${low} to ${high}`;
  }
  const label = values.join(" | ");
  if (values.length < 3 || length(label) <= LONGEST) return label;
  const shown = [values[0]];
  let size = length(values[0]);
  while (size + 3 + length(values[shown.length]) <= LONGEST - 12) {
    size += 3 + length(values[shown.length]);
    shown.push(values[shown.length]);
  }
  return `${shown.join(" | ")} | \u2026 ${values.length - shown.length} more`;
};

const ownBuckets = (buckets) => (buckets.edges ? buckets.edges.length + 1 : buckets.groups.length);

const toldLabel = (attribute, buckets, codes) => {
  if (codes.length === buckets.labels.length) return "(any)";
  const n = ownBuckets(buckets);
  const own = codes.filter((code) => code < n);
  const words = [];
  if (own.length && buckets.edges) {
    const ends = [null, ...buckets.edges, null];
    words.push(intervalLabel(ends[own[0]], ends[own[own.length - 1] + 1], attribute));
  } else if (own.length) {
    words.push(groupLabel(own.flatMap((code) => buckets.groups[code]), attribute));
  }
  if (buckets.groups && buckets.unseen >= n && codes.includes(buckets.unseen)) words.push("(other)");
  if (buckets.missing >= n && codes.includes(buckets.missing)) words.push("(missing)");
  return words.join(" or ");
};

// Codes that follow each other, together.
const runsOf = (codes) => {
  const runs = [];
  for (const code of codes) {
    const last = runs[runs.length - 1];
    if (last && last[last.length - 1] === code - 1) last.push(code);
    else runs.push([code]);
  }
  return runs;
};

// The name of several codes together, ranges that are no neighbours joined by `or`.
const choiceLabel = (attribute, buckets, codes) => {
  if (codes.length === 1) return buckets.labels[codes[0]];
  if (attribute.kind === "category" || codes.length === buckets.labels.length) {
    return toldLabel(attribute, buckets, codes);
  }
  const n = ownBuckets(buckets);
  const name = (run) => (run.length === 1 ? buckets.labels[run[0]] : toldLabel(attribute, buckets, run));
  const special = codes.filter((code) => code >= n).map((code) => buckets.labels[code]);
  return [...runsOf(codes.filter((code) => code < n)).map(name), ...special].join(" or ");
};

// The labels, with a number behind each one that was there before.
const unique = (labels) => {
  const result = new Set();
  for (const label of labels) {
    let [name, count] = [label, 1];
    while (result.has(name)) name = `${label} (${++count})`;
    result.add(name);
  }
  return [...result];
};
