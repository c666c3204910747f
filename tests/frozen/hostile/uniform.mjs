// Written by modicum: shows records in less detail, where they are. It sends nothing and needs nothing else.
// The artifact's buckets are data below; what differs from one artifact to another is that data alone.
export const { kind, artifact, attributes, Refusal, bucketOf, generalize } = (() => {
const data = {"kind": "generalization", "artifact": "71335132754681ad5a863dc4648b1eace5cbc9b5af38526159e6d67e622fe174", "attributes": [{"name": "it's \"age\"", "kind": "number", "storage": "integer", "action": "coarsened", "question": null, "help": null, "domain": null, "told": {"labels": ["\u2264 37", "38\u201357", "\u2265 58", "(missing)"], "edges": [37.5, 57.5], "missing": 3}}, {"name": "\u003c/script\u003e", "kind": "category", "storage": "text", "action": "coarsened", "question": null, "help": null, "domain": null, "told": {"labels": [" | __proto__ | a\"b`c", "%s $1 ? {{x}} | null", "'; DROP TABLE people; -- | \u003c/script\u003e\u003cb\u003e | \u00e9", "(other)", "(missing)"], "groups": [["", "__proto__", "a\"b`c"], ["%s $1 ? {{x}}", "null"], ["'; DROP TABLE people; --", "\u003c/script\u003e\u003cb\u003e", "\u00e9"]], "unseen": 3, "missing": 4}}, {"name": "gr\u00f6\u00dfe; --", "kind": "number", "storage": "float", "action": "coarsened", "question": null, "help": null, "domain": null, "told": {"labels": ["\u2264 2.05", "2.05\u20133.95", "\u003e 3.95", "(missing)"], "edges": [2.05, 3.95], "missing": 3}}, {"name": "born", "kind": "date", "storage": "date", "action": "coarsened", "question": null, "help": null, "domain": null, "told": {"labels": ["\u2264 1956-08-01", "1956-08-02 to 1963-05-01", "\u2265 1963-05-02", "(missing)"], "edges": [-423446400.0, -210556800.0], "missing": 3}}, {"name": "school", "kind": "ordered", "storage": "text", "action": "kept", "question": null, "help": null, "domain": ["none", "basic", "higher"], "told": {"labels": ["none", "basic", "higher", "(other)", "(missing)"], "groups": [["none"], ["basic"], ["higher"]], "unseen": 3, "missing": 4}}, {"name": "constructor", "kind": "category", "storage": "boolean", "action": "kept", "question": null, "help": null, "domain": null, "told": {"labels": ["false", "true", "(other)", "(missing)"], "groups": [["false"], ["true"]], "unseen": 2, "missing": 3}}]};
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

// What is told of a record: each needed attribute's bucket.

const bucketOf = (name, value) => {
  const attribute = byName.get(name);
  if (attribute === undefined) throw new Refusal(name, "There is no attribute of this name.");
  return tell(attribute, value);
};

const generalize = (record) => {
  checkRecord(record);
  const result = Object.create(null);
  for (const attribute of needed) result[attribute.name] = tell(attribute, field(record, attribute.name));
  return result;
};

return { kind, artifact, attributes, Refusal, bucketOf, generalize };
})();
