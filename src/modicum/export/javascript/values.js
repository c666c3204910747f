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
