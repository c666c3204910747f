// Exact values: read where they are typed, turned into a bucket, and kept nowhere else.

const separators = figures.formatToParts(-12345.6);
const point = separators.find((part) => part.type === "decimal").value;
const grouping = separators.find((part) => part.type === "group")?.value ?? "";

// A number as people of this language write it: "1,234.5", "1.234,5", "-3"; NaN where it is none.
function readNumber(text) {
  let plain = [...text.trim().replace(/\u2212/g, "-")].map(westernDigit).join("");
  plain = plain.replace(/^([+-])\s+/, "$1").replace(/(?<=\d)[\s'](?=\d{3}(?!\d))/g, ""); // no slip such as "4 5"
  const parts = grouping ? plain.split(point)[0].split(grouping) : [plain];
  if (parts.length > 1) {
    if (!parts.slice(1).every((part) => /^\d{3}$/.test(part)) || !/^[+-]?\d{1,3}$/.test(parts[0])) return NaN;
    plain = plain.split(grouping).join("");
  }
  plain = plain.split(point).join(".");
  return /^[+-]?(\d+\.?\d*|\.\d+)$/.test(plain) ? Number(plain) : NaN;
}

// Digits of other scripts stand in Unicode in runs of ten from zero to nine.
function westernDigit(letter) {
  if (!/^\p{Nd}$/u.test(letter) || /\d/.test(letter)) return letter;
  let zero = letter.codePointAt(0);
  while (/^\p{Nd}$/u.test(String.fromCodePoint(zero - 1)) && letter.codePointAt(0) - zero < 9) zero -= 1;
  return String(letter.codePointAt(0) - zero);
}

// ISO text without a zone as seconds since 1970.
function secondsOf(text) {
  return Date.parse(`${text}${text.includes("T") ? "" : "T00:00"}Z`) / 1000;
}

// What an input holds: {empty}, {wrong: sentence} or {number, value}; dates as seconds and as ISO text.
function readInput(subject, input) {
  const isDate = subject.kind === "date";
  if (input.value.trim() === "") {
    return input.validity.badInput ? { wrong: say(isDate ? "notDate" : "notNumber") } : { empty: true };
  }
  const number = isDate ? secondsOf(input.value) : readNumber(input.value);
  if (!Number.isFinite(number)) return { wrong: say(isDate ? "notDate" : "notNumber") };
  return { number, value: isDate ? input.value : number };
}

function valueInput(subject, id, describedBy, changed) {
  const type = subject.kind !== "date" ? "text" : subject.storage === "date" ? "date" : "datetime-local";
  const mode = subject.kind === "date" ? null : subject.storage === "integer" ? "numeric" : "decimal";
  return element("input", {
    type, id, inputmode: mode, step: type === "datetime-local" ? "1" : null, autocomplete: "off", spellcheck: "false",
    max: type === "text" ? null : type === "date" ? "9999-12-31" : "9999-12-31T23:59:59",
    "aria-describedby": describedBy,
    on: { input: changed, keydown: (event) => event.key === "Enter" && event.preventDefault() },
  });
}

// "Type my exact value instead": an input that chooses the range its value falls in.
function exactBox(subject, id, find, choose, clear) {
  const note = element("p", { id: `${id}-note`, class: "soft" }, say("exactStays"));
  const found = element("p", { class: "found", role: "status", dir: "auto" });
  const input = valueInput(subject, `${id}-exact`, `${id}-note`, read);
  const asked = say(subject.kind === "date" ? "exactDate" : "exactNumber");
  const label = element("label", { for: `${id}-exact`, class: "small" }, asked);
  const summary = element("summary", {}, say("exactOpen"));
  const details = element("details", { class: "exact" }, summary, label, input, note, found);
  function read() {
    const { empty, wrong, number } = readInput(subject, input);
    const words = empty || wrong ? null : find(number);
    if (words) choose(words.index);
    else clear();
    found.textContent = wrong ?? (words ? say("exactFalls", { bucket: words.text }) : empty ? "" : say("refusedValue"));
    if (empty) typed.delete(subject.name);
    else typed.add(subject.name);
  }
  function reset() {
    input.value = "";
    found.textContent = "";
    typed.delete(subject.name);
  }
  return { element: details, input, reset };
}
