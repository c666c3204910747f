// Written by modicum: shows records in less detail, where they are. It sends nothing and needs nothing else.
// The artifact's buckets are data below; what differs from one artifact to another is that data alone.
export const { kind, artifact, attributes, Refusal, state, answerOf, answersOf, least, recordOf } = (() => {
const data = {"kind": "questionnaire", "artifact": "8f374c61b48499621a115cc636b0380e4626a9a848f6773426dd9507eadc7a8b", "attributes": [{"name": "age", "kind": "number", "storage": "integer", "action": "coarsened", "question": null, "help": null, "domain": null, "told": {"labels": ["\u2264 40", "\u2265 41", "(missing)"], "edges": [40.5], "missing": 2}, "kept": false, "words": {"ancestors": [], "order": [], "digits": []}}, {"name": "education", "kind": "category", "storage": "text", "action": "coarsened", "question": null, "help": null, "domain": null, "told": {"labels": ["10th | 11th | 12th | 1st-4th | 5th-6th | 7th-8th | \u2026 5 more", "Bachelors | Doctorate | Masters | Prof-school", "(other)", "(missing)"], "groups": [["10th", "11th", "12th", "1st-4th", "5th-6th", "7th-8th", "9th", "Assoc-acdm", "Assoc-voc", "HS-grad", "Some-college"], ["Bachelors", "Doctorate", "Masters", "Prof-school"]], "unseen": 2, "missing": 3}, "kept": false, "words": {"ancestors": [], "order": [], "digits": []}}, {"name": "hours-per-week", "kind": "number", "storage": "integer", "action": "coarsened", "question": null, "help": null, "domain": null, "told": {"labels": ["\u2264 49", "\u2265 50", "(missing)"], "edges": [49.5], "missing": 2}, "kept": false, "words": {"ancestors": [], "order": [], "digits": []}}, {"name": "capital-gain", "kind": "number", "storage": "integer", "action": "coarsened", "question": null, "help": null, "domain": null, "told": {"labels": ["\u2264 5000", "\u2265 5001", "(missing)"], "edges": [5000.0], "missing": 2}, "kept": false, "words": {"ancestors": [], "order": [], "digits": []}}], "questions": [{"column": 3, "left": [0, 2], "children": [1, -5]}, {"column": 2, "left": [0, 2], "children": [-1, 2]}, {"column": 1, "left": [0, 2, 3], "children": [-2, 3]}, {"column": 0, "left": [0, 2], "children": [-3, -4]}], "predictions": [false, false, false, true, true], "results": [0, 0, 0, 1, 1]};
// One value at a time: the text of a category, a number, a date, as Python reads them. NaN and null are missing.

class Refusal extends Error {
  // What cannot be told, in words that name the attribute and never a value.
  constructor(attribute, message) {
    super(message);
    this.name = "Refusal";
    this.attribute = attribute;
  }
}

const refuse = (name, what) => {
  throw new Refusal(name, `The attribute ${JSON.stringify(name)} ${what}.`);
};

const isMissing = (value) => value === null || value === undefined || value !== value;

// A finite float as Python's repr writes it: the same digits, an exponent below 1e-4 and from 1e16.
const repr = (number) => {
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  const [digits, power] = Math.abs(number).toExponential().split("e");
  const exponent = Number(power);
  const sign = number < 0 || Object.is(number, -0) ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    return `${sign}${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const all = digits.replace(".", "");
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${all}`;
  const whole = all.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${all.slice(exponent + 1) || "0"}`;
};

const plainNumber = (number) => (Number.isInteger(number) ? BigInt(number).toString() : repr(number));

// The text by which a category is known; null where there is none.
const canonical = (value) => {
  if (typeof value === "string") return value.normalize("NFC");
  if (typeof value === "number") return plainNumber(value);
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  return value instanceof Date ? iso(value.getTime() / 1000) : null;
};

const NUMBER = /^[\t\n\v\f\r ]*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[\t\n\v\f\r ]*$/;
const INFINITE = /^[+-]?inf(?:inity)?$/i;

const numberOf = (value) => {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "bigint") return Number.isFinite(Number(value)) ? Number(value) : null;
  if (typeof value !== "string") return null;
  if (INFINITE.test(value)) return value[0] === "-" ? -Infinity : Infinity;
  return NUMBER.test(value) ? Number(value.trim()) : null;
};

// Dates: ISO 8601 as Python's table reader takes it, in seconds since 1970, UTC where no zone is given.

const DATE = new RegExp(
  "^[\\t\\n\\v\\f\\r ]*(-?)([0-9]{4})" +
    "(?:([-./\\\\ ])([0-9]{1,2})(?:\\3([0-9]{1,2})(TIME)?)?|([0-9]{2})([0-9]{2})(TIME)?)?$".replaceAll("TIME", "[T ][^]+"),
);
const TIME = new RegExp(
  "^[T ](?:([0-9]{2})|([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\\.([0-9]{0,18}))?)?|" +
    "([0-9]{2})([0-9]{2})(?:([0-9]{2})(?:\\.([0-9]{0,18}))?)?)[\\t\\n\\v\\f\\r ]*" +
    "(?:(?:Z|([+-])([0-9]{2}|[0-9](?![0-9]))(?:$|:?([0-9]{1,2})))[\\t\\n\\v\\f\\r ]*)?$",
);

const daysInMonth = (year, month) =>
  month === 2 ? (year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;

// Days since 1970-01-01 in the calendar of today, extended to all years.
const daysOf = (year, month, day) => {
  const y = month > 2 ? year : year - 1;
  const era = Math.floor(y / 400);
  const ofEra = y - era * 400;
  const ofYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  return era * 146097 + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719468;
};

const timeOf = (text) => {
  const found = TIME.exec(text);
  if (!found) return null;
  const number = (...places) => Number(places.map((i) => found[i]).find((part) => part !== undefined) ?? 0);
  const [hour, minute, second] = [number(1, 2, 6), number(3, 7), number(4, 8)];
  const [zoneHour, zoneMinute] = [number(11), number(12)];
  if (hour > 23 || minute > 59 || second > 59 || zoneHour > 23 || zoneMinute > 59) return null;
  const zone = (found[10] === "-" ? -1 : 1) * (zoneHour * 3600 + zoneMinute * 60);
  const fraction = found[5] ?? found[9] ?? "";
  return { seconds: hour * 3600 + minute * 60 + second, zone, fraction };
};

const NANOSECONDS = 9223372036; // with more than 6 decimals a date must lie within 64 bits of nanoseconds

const dateOf = (value) => {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.getTime() / 1000;
  const found = typeof value === "string" ? DATE.exec(value) : null;
  if (!found) return null;
  const year = Number(found[2]) * (found[1] ? -1 : 1);
  const [month, day] = [Number(found[4] ?? found[7] ?? 1), Number(found[5] ?? found[8] ?? 1)];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null;
  const text = found[6] ?? found[9];
  const time = text === undefined ? { seconds: 0, zone: 0, fraction: "" } : timeOf(text);
  if (time === null) return null;
  const local = daysOf(year, month, day) * 86400 + time.seconds;
  const whole = local - time.zone;
  if (time.fraction.length > 6 && (Math.abs(whole) > NANOSECONDS || Math.abs(local) > NANOSECONDS)) return null;
  return Number(BigInt(whole) * 1000000n + BigInt(time.fraction.slice(0, 6).padEnd(6, "0"))) / 1e6;
};

const pad = (number, width = 2) => String(number).padStart(width, "0");

// Seconds since 1970 as ISO text, without the time where it is midnight; null beyond the years 1 to 9999.
const iso = (value) => {
  const part = (value - Math.trunc(value)) * 1e6;
  const below = Math.floor(part);
  const up = part - below > 0.5 || (part - below === 0.5 && below % 2 !== 0);
  let micros = below + (up ? 1 : 0);
  const carry = Math.floor(micros / 1000000);
  micros -= carry * 1000000;
  const seconds = Math.trunc(value) + carry;
  if (!(seconds >= -62135596800 && seconds < 253402300800)) return null;
  const date = new Date(seconds * 1000);
  const day = `${pad(date.getUTCFullYear(), 4)}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`;
  const clock = `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`;
  if (micros === 0) return clock === "00:00:00" ? day : `${day}T${clock}`;
  return `${day}T${clock}.${pad(micros, 6)}`;
};

// One attribute's buckets: the code of a value, and what is told of it.

const field = (record, name) => {
  if (record instanceof Map) return record.get(name);
  return Object.prototype.hasOwnProperty.call(record, name) ? record[name] : undefined;
};

const checkRecord = (record) => {
  if (typeof record !== "object" || record === null || Array.isArray(record)) {
    throw new Refusal(null, "A record must be an object or a Map with one entry per attribute.");
  }
};

// A number or date as float64; null where it is missing.
const measured = (attribute, value) => {
  if (isMissing(value)) return null;
  const number = attribute.kind === "date" ? dateOf(value) : numberOf(value);
  return number === null ? refuse(attribute.name, `should be a ${attribute.kind}`) : number;
};

const missingCode = (attribute, buckets) =>
  buckets.missing < 0 ? refuse(attribute.name, "is missing, which is refused") : buckets.missing;

// Bucket i holds edges[i - 1] < x <= edges[i].
const between = (edges, number) => {
  let [low, high] = [0, edges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edges[middle] < number) low = middle + 1;
    else high = middle;
  }
  return low;
};

const known = new WeakMap();

const codeByText = (buckets) => {
  if (!known.has(buckets)) {
    const entries = buckets.groups.flatMap((values, code) => values.map((value) => [value, code]));
    known.set(buckets, new Map(entries));
  }
  return known.get(buckets);
};

const groupCode = (attribute, buckets, value) => {
  if (isMissing(value)) return missingCode(attribute, buckets);
  const codes = codeByText(buckets);
  const text = typeof value === "string" && codes.has(value) ? value : canonical(value);
  if (text === null) return refuse(attribute.name, "should be a text, a number or a truth value");
  const code = codes.get(text) ?? buckets.unseen;
  return code < 0 ? refuse(attribute.name, "has a value that is not known, which is refused") : code;
};

// The bucket of a value, numbered from 0; 0 where the attribute has none.
const codeOf = (attribute, buckets, value) => {
  if (buckets === null) return 0;
  if (buckets.groups) return groupCode(attribute, buckets, value);
  const number = measured(attribute, value);
  if (number === null) return missingCode(attribute, buckets);
  return buckets.edges ? between(buckets.edges, number) : 0;
};

// A number or date in full detail as it travels: finite, dates as ISO text, null where it is missing.
const inFull = (attribute, buckets, value) => {
  const number = measured(attribute, value);
  if (number === null) return missingCode(attribute, buckets), null;
  const told = attribute.kind === "date" ? iso(number) : Number.isFinite(number) ? number + 0 : null;
  return told === null ? refuse(attribute.name, "is not finite, or no date of the years 1 to 9999") : told;
};

const tell = (attribute, value) => {
  const buckets = attribute.told;
  if (buckets === null) return refuse(attribute.name, "is not collected");
  return buckets.labels ? buckets.labels[codeOf(attribute, buckets, value)] : inFull(attribute, buckets, value);
};

const frozen = (value) => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(frozen);
  }
  return value;
};

const shownBuckets = (attribute, { labels, edges, groups }) => {
  if (groups) return groups.map((values, i) => ({ label: labels[i], values }));
  return [...edges, null].map((upTo, i) => {
    const text = attribute.kind === "date" ? { upToText: upTo === null ? null : iso(upTo) } : {};
    return { label: labels[i], upTo, ...text };
  });
};

// What a form needs to know of an attribute.
const shown = (attribute) => {
  const { name, kind, storage, action, question, help, domain, kept, told } = attribute;
  const word = (code) => (told && told.labels && code >= 0 ? told.labels[code] : null);
  return {
    name,
    kind,
    storage,
    action,
    question,
    help,
    buckets: told && told.labels ? shownBuckets(attribute, told) : null,
    other: told && told.groups ? word(told.unseen) : null,
    missing: told ? word(told.missing) : null,
    missingRefused: told !== null && told.missing < 0,
    unseenRefused: told !== null && told.groups !== undefined && told.unseen < 0,
    domain,
    ...(kept === undefined ? {} : { kept }),
  };
};

const { kind, artifact } = data;
const byName = new Map(data.attributes.map((attribute) => [attribute.name, attribute]));
const needed = data.attributes.filter((attribute) => attribute.told !== null);
const attributes = frozen(data.attributes.map(shown));

// Cells: a tree of questions about buckets leads every record to one cell, which says what is told.

const place = new Map(data.attributes.map((attribute, column) => [attribute.name, column]));

// The buckets that questions are about; an attribute that is told besides may have others of its own.
const asked = (attribute) => (attribute.kept ? attribute.detail : attribute.told);

const goesLeft = data.questions.map(({ left }) => new Set(left));

// The cell to which a row of codes leads, numbered from 0 as they stand in the tree.
const walk = (codes) => {
  let at = data.questions.length ? 0 : ~0;
  while (at >= 0) {
    const { column, children } = data.questions[at];
    at = children[goesLeft[at].has(codes[column]) ? 0 : 1];
  }
  return ~at;
};

const cellOf = (record) => {
  checkRecord(record);
  const codes = new Array(data.attributes.length).fill(0);
  for (const attribute of needed) {
    codes[place.get(attribute.name)] = codeOf(attribute, asked(attribute), field(record, attribute.name));
  }
  return walk(codes);
};

const checkCell = (cell) => {
  if (!Number.isInteger(cell) || cell < 0 || cell >= data.predictions.length) {
    throw new Refusal(null, `A cell is a whole number from 0 to ${data.predictions.length - 1}.`);
  }
};

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

// Which codes of an attribute lead to the same, whatever is answered besides: by fingerprints modulo a prime, two of
// them, so that codes which differ are taken for equal with a chance below 1 in 10^15.

const PRIME = 2 ** 31 - 1;

// The product of two residues modulo the prime: no step exceeds 2^53.
const times = (a, b) => (((a * (b >>> 16)) % PRIME) * 65536 + a * (b & 65535)) % PRIME;

// Fixed numbers, spread evenly by mixing a counter.
let counter = 0;
const drawn = () => {
  counter = (counter + 0x9e3779b9) >>> 0;
  let x = counter;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return ((x ^ (x >>> 16)) >>> 1) % PRIME;
};
const draw = (count) => [0, 1].map(() => Float64Array.from({ length: count }, drawn));

const nCells = data.predictions.length;
const axes = [...new Set(data.questions.map(({ column }) => column))].sort((a, b) => a - b);
const sizeOf = (column) => asked(data.attributes[column]).labels.length;

// For each asked attribute which of its codes each cell leaves possible, a row for each cell.
const boxes = new Map(axes.map((column) => [column, new Uint8Array(nCells * sizeOf(column)).fill(1)]));

const clear = (column, codes, first, end) => {
  const [box, size] = [boxes.get(column), sizeOf(column)];
  for (let cell = first; cell < end; cell++) for (const code of codes) box[cell * size + code] = 0;
};

// Both sides of a question are runs of cells, because the tree is in preorder; later questions come first here.
const firstCells = [];
const endCells = [];
for (let at = data.questions.length - 1; at >= 0; at--) {
  const { column, left, children } = data.questions[at];
  const [first, middle] = children.map((child) => (child < 0 ? ~child : firstCells[child]));
  const end = children[1] < 0 ? ~children[1] + 1 : endCells[children[1]];
  [firstCells[at], endCells[at]] = [first, end];
  const others = Array.from({ length: sizeOf(column) }, (_, code) => code).filter((code) => !goesLeft[at].has(code));
  clear(column, others, first, middle);
  clear(column, left, middle, end);
}

const marks = new Map(axes.map((column) => [column, draw(sizeOf(column))]));
const resultMarks = draw(new Set(data.results).size);

// For each cell the sum of an attribute's marks over its open codes.
const weights = (column, open, which) => {
  const [box, size, mark] = [boxes.get(column), sizeOf(column), marks.get(column)[which]];
  const found = new Float64Array(nCells);
  for (let cell = 0; cell < nCells; cell++) {
    let sum = 0;
    for (let code = 0; code < size; code++) if (open[code] && box[cell * size + code]) sum += mark[code];
    found[cell] = sum % PRIME;
  }
  return found;
};

// For each attribute and cell the product of its result's mark and the weights of all other attributes.
const productsOfOthers = (opened, which) => {
  const each = axes.map((column) => weights(column, opened.get(column), which));
  const found = axes.map(() => new Float64Array(nCells));
  for (let cell = 0; cell < nCells; cell++) {
    let before = resultMarks[which][data.results[cell]];
    for (let i = 0; i < axes.length; i++) {
      found[i][cell] = before;
      before = times(before, each[i][cell]);
    }
    let after = 1;
    for (let i = axes.length - 1; i >= 0; i--) {
      found[i][cell] = times(found[i][cell], after);
      after = times(after, each[i][cell]);
    }
  }
  return found;
};

const fingerprints = (column, open, products) => {
  const [box, size] = [boxes.get(column), sizeOf(column)];
  const found = new Float64Array(size);
  for (let cell = 0; cell < nCells; cell++) {
    for (let code = 0; code < size; code++) {
      if (open[code] && box[cell * size + code]) found[code] += products[cell];
    }
  }
  return found.map((sum) => sum % PRIME);
};

// For each asked attribute a key of each code; codes with the same key are equivalent.
const keysOf = (opened) => {
  const [one, two] = [0, 1].map((which) => {
    const products = productsOfOthers(opened, which);
    return axes.map((column, i) => fingerprints(column, opened.get(column), products[i]));
  });
  return new Map(axes.map((column, i) => [column, Array.from(one[i], (sum, code) => `${sum} ${two[i][code]}`)]));
};

const isReached = (cell, opened) =>
  axes.every((column) => {
    const [box, open, size] = [boxes.get(column), opened.get(column), sizeOf(column)];
    return open.some((is, code) => is && box[cell * size + code]);
  });

// Questions in any order, each no finer than it must be after the answers before it.

const asMap = (answers) => {
  if (answers === undefined || answers === null) return new Map();
  if (answers instanceof Map) return answers;
  if (typeof answers !== "object") throw new Refusal(null, "Answers must be given by attribute.");
  return new Map(Array.isArray(answers) ? answers : Object.entries(answers));
};

const checkNames = (answers) => {
  for (const name of answers.keys()) {
    const attribute = byName.get(name);
    if (attribute === undefined) throw new Refusal(null, "There is an answer about an attribute that is not known.");
    if (attribute.told === null) refuse(name, "is not collected, so that no answer about it is taken");
  }
};

const listOf = (answer) => {
  const codes = typeof answer === "object" && answer !== null && "codes" in answer ? answer.codes : answer;
  return codes instanceof Set ? [...codes] : codes;
};

const isList = (answer) => Array.isArray(listOf(answer));

const codesOf = (attribute, answer) => {
  const [codes, size] = [listOf(answer), attribute.told.labels.length];
  const fits = (code) => Number.isInteger(code) && code >= 0 && code < size;
  if (!Array.isArray(codes) || !codes.length || !codes.every(fits)) {
    refuse(attribute.name, `must be answered by one of its choices, or by a list of codes from 0 to ${size - 1}`);
  }
  return [...new Set(codes)].sort((a, b) => a - b);
};

// The bucket in the tree of a bucket of an attribute that is told besides.
const sameBucket = ({ told, detail }, code) => {
  if (!told.groups || detail === null || !detail.groups) return 0;
  if (code < told.groups.length) return codeByText(detail).get(told.groups[code][0]) ?? detail.unseen;
  return code === told.unseen ? detail.unseen : detail.missing;
};

// Of an attribute that is told besides: its value for a model, its words, its code in the tree, and what is sent.
const keptAnswer = (attribute, answer) => {
  const { name, told, detail } = attribute;
  if (told.labels && isList(answer)) {
    const codes = codesOf(attribute, answer);
    if (codes.length > 1) refuse(name, "must be answered by one of its choices alone");
    const own = codes[0];
    const code = sameBucket(attribute, own);
    if (code < 0) refuse(name, "is answered by a choice that is refused");
    return { value: valueOf(attribute, own), word: told.labels[own], code, sent: told.labels[own] };
  }
  if (isList(answer) || attribute.action === "coarsened") refuse(name, `must be answered by ${told.labels ? "a choice" : "its value"}`);
  const code = codeOf(attribute, detail, answer);
  if (told.labels) {
    const own = codeOf(attribute, told, answer);
    return { value: valueOf(attribute, own), word: told.labels[own], code, sent: told.labels[own] };
  }
  const value = inFull(attribute, told, answer);
  return { value, word: value === null ? "(missing)" : canonical(value), code, sent: value };
};

const valueOf = (attribute, code) => (attribute.representatives ? attribute.representatives[code] : null);

const allOpen = () => new Map(axes.map((column) => [column, new Array(sizeOf(column)).fill(true)]));

const only = (size, codes) => {
  const open = new Array(size).fill(false);
  for (const code of codes) open[code] = true;
  return open;
};

const openCodes = (open) => open.flatMap((is, code) => (is ? [code] : []));

// Choices: the open codes of an attribute, equivalent ones together.
const choicesOf = (attribute, open, keys) => {
  const classes = new Map();
  for (const code of openCodes(open)) {
    if (!classes.has(keys[code])) classes.set(keys[code], []);
    classes.get(keys[code]).push(code);
  }
  const found = [...classes.values()];
  const names = unique(found.map((codes) => choiceLabel(attribute, asked(attribute), codes)));
  return found.map((codes, i) => ({ label: names[i], codes }));
};

const keptChoices = ({ told }) => (told.labels ? told.labels.map((label, code) => ({ label, codes: [code] })) : null);

const questionsOf = (opened, exact) => {
  const keys = keysOf(opened);
  return data.attributes.flatMap((attribute, column) => {
    const { name } = attribute;
    if (attribute.kept) return exact.has(name) ? [] : [{ name, choices: keptChoices(attribute) }];
    if (!opened.has(column)) return [];
    const choices = choicesOf(attribute, opened.get(column), keys.get(column));
    return choices.length > 1 ? [{ name, choices }] : [];
  });
};

const valuesOf = (cell, exact) => {
  if (data.values === undefined) return null;
  const result = Object.create(null);
  data.attributes.forEach(({ name }, column) => {
    result[name] = exact.has(name) ? exact.get(name) : data.values[cell][column];
  });
  return result;
};

// What is still asked after some answers, and the prediction once it is fixed.
const state = (answers) => {
  const given = asMap(answers);
  checkNames(given);
  const [opened, told, exact] = [allOpen(), Object.create(null), new Map()];
  data.attributes.forEach((attribute, column) => {
    const { name, kept } = attribute;
    if (!given.has(name)) return;
    let codes;
    if (kept) {
      const { value, word, code } = keptAnswer(attribute, given.get(name));
      exact.set(name, value);
      [told[name], codes] = [word, [code]];
    } else {
      codes = codesOf(attribute, given.get(name));
      told[name] = choiceLabel(attribute, attribute.told, codes);
    }
    if (opened.has(column)) opened.set(column, only(sizeOf(column), codes));
  });
  const cells = Array.from({ length: nCells }, (_, cell) => cell).filter((cell) => isReached(cell, opened));
  const questions = questionsOf(opened, exact);
  if (questions.length) return { questions, decided: false, prediction: null, values: null, told, cells };
  const prediction = needed.some(({ kept }) => kept) ? null : data.predictions[cells[0]];
  const values = prediction === null ? valuesOf(cells[0], exact) : null;
  return { questions, decided: true, prediction, values, told, cells };
};

const widened = (column, opened) => {
  const keys = keysOf(new Map([...opened, [column, new Array(sizeOf(column)).fill(true)]])).get(column);
  return keys.map((key) => key === keys[opened.get(column).indexOf(true)]);
};

// The least of these answers that still decides, from the last answer to the first; in the artifact's order.
const least = (answers) => {
  const given = asMap(answers);
  if (!state(given).decided) throw new Refusal(null, "These answers do not decide yet; more is asked.");
  const opened = allOpen();
  const own = [];
  for (const [name, answer] of given) {
    const [attribute, column] = [byName.get(name), place.get(name)];
    if (!attribute.kept) own.push(column);
    const codes = attribute.kept ? [keptAnswer(attribute, answer).code] : codesOf(attribute, answer);
    if (opened.has(column)) opened.set(column, only(sizeOf(column), codes));
  }
  for (const column of own.reverse()) opened.set(column, widened(column, opened));
  const result = new Map();
  for (const { name, kept } of needed) {
    const open = opened.get(place.get(name));
    if (kept) result.set(name, given.get(name));
    else if (!open.every((is) => is)) result.set(name, openCodes(open));
  }
  return result;
};

// What is sent: the least of the answers, by the labels of the buckets that are left possible.
const recordOf = (answers) => {
  const result = Object.create(null);
  for (const [name, answer] of least(answers)) {
    const attribute = byName.get(name);
    result[name] = attribute.kept ? keptAnswer(attribute, answer).sent : answer.map((code) => attribute.told.labels[code]);
  }
  return result;
};

const has = (record, name) =>
  record instanceof Map ? record.has(name) : Object.prototype.hasOwnProperty.call(record, name);

// What a record answers to one of the questions: the choice that holds it, or a value that is asked for exactly.
const answerOf = (current, name, record) => {
  checkRecord(record);
  const question = current.questions.find((each) => each.name === name);
  if (question === undefined) throw new Refusal(byName.has(name) ? name : null, "There is no such question any more.");
  if (!has(record, name)) refuse(name, "is not in the record");
  if (question.choices === null) return field(record, name);
  const attribute = byName.get(name);
  const code = codeOf(attribute, attribute.told, field(record, name));
  const found = question.choices.find(({ codes }) => codes.includes(code));
  return found ?? refuse(name, "contradicts in the record what has been answered");
};

// All that a record answers when questions come in an order, the artifact's by default, until it is decided.
const answersOf = (record, order = []) => {
  const answers = new Map();
  let current = state(answers);
  for (const name of new Set([...order, ...byName.keys()])) {
    if (!current.questions.some((question) => question.name === name)) continue;
    const answer = answerOf(current, name, record);
    answers.set(name, isList(answer) ? answer.codes : answer);
    current = state(answers);
  }
  return answers;
};

return { kind, artifact, attributes, Refusal, state, answerOf, answersOf, least, recordOf };
})();
