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
