// What is asked, what has been answered and what would be sent, for each kind of artifact.
// An answer is {codes: [...]} or, where the exact value is needed, {value}.

const answers = new Map();
const typed = new Set(); // attributes whose exact value was typed; the value itself stays in its input

function fullDetail(subject) {
  return subject.buckets === null;
}

// Words are found when they are first asked for: there may be ten thousand choices, of which few are ever shown.
function choiceOf(subject, codes) {
  let words = null;
  return {
    codes,
    get words() {
      return (words ??= wordsOf(subject, codes));
    },
  };
}

// A question's choices: {codes, words}; one more where "no answer" counts as a bucket that has a name of its own.
function allChoices(subject) {
  const choices = possible(subject, subject.labels.map((_, code) => code)).map((code) => choiceOf(subject, [code]));
  const counted = subject.buckets.findIndex((bucket) => bucket.label === subject.missing);
  if (counted >= 0) {
    const text = say("countedAs", { answer: say("missing"), bucket: briefly(subject, counted) });
    choices.push({ codes: [counted], missing: true, words: { text, members: [] } });
  }
  return choices;
}

function briefly(subject, code) {
  const words = wordsOf(subject, [code]);
  const values = (subject.buckets[code].values ?? []).map((value) => valueText(subject, value));
  return values.length > 3 && words.members.length === 0 ? moreOf(values, 3) : words.text;
}

const allAsked = {
  all: subjects.filter((subject) => subject.action !== "dropped"),
  choices: new Map(),
  update() {},
  asked() {
    return this.all;
  },
  open() {
    return this.all.filter((subject) => !answers.has(subject.name));
  },
  choicesOf(subject) {
    if (!this.choices.has(subject.name)) this.choices.set(subject.name, allChoices(subject));
    return this.choices.get(subject.name);
  },
  needless() {
    return [];
  },
  record() {
    if (kind === "cells") return cellRecord();
    return Object.fromEntries(this.all.map((subject) => [subject.name, told(subject)]));
  },
};

function told(subject) {
  const answer = answers.get(subject.name);
  return "value" in answer ? bucketOf(subject.name, answer.value) : subject.labels[answer.codes[0]];
}

// Cells tell more or less of an attribute depending on the others: they are given a value of each chosen bucket.
function cellRecord() {
  return generalize(Object.fromEntries(allAsked.all.map((subject) => [subject.name, someValue(subject)])));
}

function someValue(subject) {
  const answer = answers.get(subject.name);
  if ("value" in answer) return answer.value;
  const code = answer.codes[0];
  const bucket = subject.buckets[code];
  if (bucket === undefined) return subject.labels[code] === subject.missing ? null : unnamed(subject);
  return "values" in bucket ? bucket.values[0] : inside(subject, code);
}

function unnamed(subject) {
  const truth = unnamedTruth(subject);
  if (truth) return truth;
  const named = new Set(subject.buckets.flatMap((bucket) => bucket.values));
  let text = "-";
  while (named.has(text)) text += "-";
  return text;
}

// A number in a range: its upper end belongs to it; above the last edge the next plain number.
function inside(subject, code) {
  const bucket = subject.buckets[code];
  const edge = code === 0 ? 0 : subject.buckets[code - 1].upTo;
  const number = bucket.upTo ?? edge + Math.max(1, Math.abs(edge));
  if (subject.kind !== "date") return number;
  return bucket.upTo === null ? "9999-12-31" : (bucket.upToText ?? new Date(number * 1000).toISOString().slice(0, -1));
}

function plainAnswers(without = null) {
  const left = [...answers].filter(([name]) => name !== without);
  return new Map(left.map(([name, answer]) => [name, "value" in answer ? answer.value : answer.codes]));
}

// The questionnaire: what is still asked follows from the answers; an answered question may be answered otherwise.
const asNeeded = {
  all: subjects.filter((subject) => subject.action !== "dropped"),
  states: new Map(), // of an answered attribute: how things stand without its answer
  offered: new Map(),
  update() {
    this.now = state(plainAnswers());
    this.states = new Map([...answers.keys()].map((name) => [name, state(plainAnswers(name))]));
    this.first ??= this.now.questions.length;
  },
  asked() {
    const open = new Set(this.now.questions.map((question) => question.name));
    return this.all.filter((subject) => open.has(subject.name) || answers.has(subject.name));
  },
  open() {
    return this.now.questions.map((question) => subjectOf.get(question.name));
  },
  choicesOf(subject) {
    const { name } = subject;
    const before = this.states.get(name) ?? this.now;
    const found = before.questions.find((question) => question.name === name);
    const offered = found?.choices.filter(({ codes }) => possible(subject, [...codes]).length > 0);
    if (offered) this.offered.set(name, offered.map(({ codes }) => choiceOf(subject, [...codes])));
    return this.offered.get(name);
  },
  needless() {
    if (!this.now.decided) return [];
    const kept = least(plainAnswers());
    return [...answers.keys()].filter((name) => !kept.has(name));
  },
  record() {
    return recordOf(plainAnswers());
  },
};

// The place of the choice that an answer stands for, -1 where it says less than one of them.
function chosenOf(subject, choices) {
  const answer = answers.get(subject.name);
  if (answer === undefined) return -1;
  if (answer.missing) return choices.findIndex((choice) => choice.missing);
  return choices.findIndex((choice) => answer.codes.every((code) => choice.codes.includes(code)));
}

// The bucket low < x <= high of a number, or of a date in seconds since 1970.
function codeOf(subject, number) {
  return subject.buckets.findIndex((bucket) => bucket.upTo === null || number <= bucket.upTo);
}

const model = kind === "questionnaire" ? asNeeded : allAsked;
