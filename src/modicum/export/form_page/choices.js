// The choices of a question as radio buttons; a box to find a category by its name where there are many.

const MANY = 8; // more choices, or more categories in all, get a search box
const SHOWN = 100;

function searchable(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLocaleLowerCase(strings.language);
}

// "Something else" and "I would rather not say".
function isSpecial(subject, choice) {
  return choice.missing || choice.codes.every((code) => code >= subject.buckets.length);
}

// One list per question. `choose(index)` is called when a person chooses. Where there are many choices they scroll in a
// box of their own, and the special ones stay in sight below it.
function choiceList(subject, id, choices, choose) {
  const [list, rest] = [element("div", { class: "choices" }), element("div", { class: "choices rest" })];
  const view = { elements: [list, rest], chosen: -1, box: null };
  const many = choices.length > MANY || categoriesOf(subject) > 2 * MANY;
  const every = choices.map((_, index) => index);
  const made = (index, query) => radio(subject, id, choices[index], index, view, query, choose);
  function draw(shown, query = "") {
    fill(list, ...shown.map((index) => made(index, query)));
  }
  view.mark = (index) => {
    view.chosen = index;
    const inputs = () => view.elements.flatMap((part) => [...part.querySelectorAll("input")]);
    if (index >= 0 && !inputs().some((input) => Number(input.value) === index)) view.box?.refresh();
    for (const input of inputs()) input.checked = Number(input.value) === index;
  };
  if (many) {
    const special = every.filter((index) => isSpecial(subject, choices[index]));
    const found = every.filter((index) => !isSpecial(subject, choices[index]));
    fill(rest, ...special.map((index) => made(index, "")));
    list.classList.toggle("tall", found.length > 12);
    view.box = searchBox(subject, id, choices, found, view, draw, choose);
    view.box.refresh();
  } else {
    list.classList.toggle("short", choices.every((choice) => isSpecial(subject, choice) || isShort(choice)));
    draw(every);
  }
  return view;
}

function isShort({ words }) {
  return words.text.length < 25 && words.members.length === 0;
}

function categoriesOf(subject) {
  return (subject.buckets ?? []).reduce((sum, bucket) => sum + ("values" in bucket ? bucket.values.length : 0), 0);
}

function radio(subject, id, choice, index, view, query, choose) {
  const input = element("input", { type: "radio", name: id, value: index, on: { change: () => choose(index) } });
  input.checked = view.chosen === index;
  const members = membersText(subject, choice, query);
  const text = element("span", {}, wordsElement(subject, choice.words.text));
  if (members) text.append(foreign("small", members, { class: "members" }));
  return element("label", { class: isSpecial(subject, choice) ? "choice special" : "choice" }, input, text);
}

// Words that the page made begin with a capital letter; a category stays as it is.
function wordsElement(subject, text) {
  return foreign("span", text, { class: categoriesOf(subject) ? "words" : "words phrase" });
}

// The members of a group, those that were searched for first.
function membersText(subject, choice, query) {
  const all = choice.words.members.map((value) => valueText(subject, value));
  if (all.length === 0) return "";
  const found = query === "" ? [] : all.filter((word) => searchable(word).includes(query));
  return moreOf(found.length > 0 ? found : all, MEMBERS_LISTED);
}

// What can be found of each choice: its words and its categories.
function indexed(subject, choices, places) {
  return places.map((place) => {
    const { codes, words } = choices[place];
    const values = codes.flatMap((code) => subject.buckets[code]?.values ?? []);
    return { place, texts: [words.text, ...values.map((value) => valueText(subject, value))].map(searchable) };
  });
}

function searchBox(subject, id, choices, places, view, draw, choose) {
  const status = element("p", { class: "soft", id: `${id}-found`, role: "status" });
  const input = element("input", {
    type: "search", id: `${id}-search`, autocomplete: "off", autocapitalize: "off", spellcheck: "false",
    dir: "auto", "aria-describedby": `${id}-found`,
    on: { input: refresh, change: () => pick(false), keydown: (event) => event.key === "Enter" && enter(event) },
  });
  let index = null;
  // The places of the choices that hold what is typed, exact names first, and whether the first is one.
  function matches() {
    const query = searchable(input.value.trim());
    if (query === "") return { query, found: places, exact: false };
    index ??= indexed(subject, choices, places);
    const rank = (texts) => (texts.includes(query) ? 0 : texts.some((text) => text.startsWith(query)) ? 1 : 2);
    const held = index.filter(({ texts }) => texts.some((text) => text.includes(query)));
    const ranked = held.map(({ place, texts }) => [rank(texts), place]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return { query, found: ranked.map(([, place]) => place), exact: ranked.length > 0 && ranked[0][0] === 0 };
  }
  function refresh() {
    const { query, found } = matches();
    const shown = found.slice(0, SHOWN);
    if (places.includes(view.chosen) && !shown.includes(view.chosen)) shown.unshift(view.chosen);
    draw(shown, query);
    status.textContent = searchStatus(subject, query, found.length, places.length);
    if (query !== "" && categoriesOf(subject) > subject.buckets.length) typed.add(subject.name);
    else typed.delete(subject.name);
  }
  function pick(orOnly) {
    const { found, exact } = matches();
    if (exact || (orOnly && found.length === 1)) choose(found[0]);
  }
  function enter(event) {
    event.preventDefault();
    pick(true);
  }
  const label = element("label", { for: `${id}-search`, class: "small" }, say("search"));
  return { element: element("div", { class: "search" }, label, input, status), input, refresh };
}

function searchStatus(subject, query, found, count) {
  if (found === 0) {
    const other = subject.other !== null && subject.other !== undefined;
    return other ? say("searchNoneOther", { other: say("other") }) : say("searchNone");
  }
  if (query !== "") return say("searchFound", { count: numberText(found) });
  return count > SHOWN ? say("searchShown", { shown: numberText(SHOWN), count: numberText(count) }) : "";
}
