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
