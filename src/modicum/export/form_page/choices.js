// The choices of a question as radio buttons; a box to find a category by its name where there are many.

const MANY = 8; // more choices, or more categories in all, get a search box
const SHOWN = 100;

function searchable(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLocaleLowerCase(strings.language);
}

// One list per question. `choose(index)` is called when a person chooses.
function choiceList(subject, id, choices, choose) {
  const list = element("div", { class: "choices" });
  const view = { list, chosen: -1, box: null };
  const many = choices.length > MANY || categoriesOf(subject) > 2 * MANY;
  if (many) view.box = searchBox(subject, id, choices, view, draw, choose);
  view.short = !many && choices.every((choice) => choice.missing || (choice.words.text.length < 25 && choice.words.members.length === 0));
  function draw(shown, query = "") {
    list.classList.toggle("short", view.short);
    fill(list, ...shown.map((index) => radio(subject, id, choices[index], index, view, query, choose)));
  }
  view.mark = (index) => {
    view.chosen = index;
    if (view.box && index >= 0 && !list.querySelector(`input[value="${index}"]`)) view.box.refresh();
    for (const input of list.querySelectorAll("input")) input.checked = Number(input.value) === index;
  };
  if (view.box) view.box.refresh();
  else draw(choices.map((_, index) => index));
  return view;
}

function categoriesOf(subject) {
  return (subject.buckets ?? []).reduce((sum, bucket) => sum + ("values" in bucket ? bucket.values.length : 0), 0);
}

function radio(subject, id, choice, index, view, query, choose) {
  const input = element("input", { type: "radio", name: id, value: index, on: { change: () => choose(index) } });
  input.checked = view.chosen === index;
  const members = membersText(subject, choice, query);
  const text = element("span", {}, foreign("span", choice.words.text, { class: categoriesOf(subject) ? "words" : "words phrase" }));
  if (members) text.append(foreign("small", members, { class: "members" }));
  const special = choice.missing || choice.codes.every((code) => code >= subject.buckets.length);
  return element("label", { class: special ? "choice special" : "choice" }, input, text);
}

// The members of a group, those that were searched for first.
function membersText(subject, choice, query) {
  const all = choice.words.members.map((value) => valueText(subject, value));
  if (all.length === 0) return "";
  const found = query === "" ? [] : all.filter((word) => searchable(word).includes(query));
  return moreOf(found.length > 0 ? found : all, MEMBERS_LISTED);
}

// What can be found of each choice: its words and its categories.
function indexed(subject, choices) {
  return choices.map(({ codes, words }) => {
    const values = codes.flatMap((code) => subject.buckets[code]?.values ?? []);
    return [words.text, ...values.map((value) => valueText(subject, value))].map(searchable);
  });
}

function searchBox(subject, id, choices, view, draw, choose) {
  const status = element("p", { class: "soft", id: `${id}-found`, role: "status" });
  const input = element("input", {
    type: "search", id: `${id}-search`, autocomplete: "off", autocapitalize: "off", spellcheck: "false",
    dir: "auto", "aria-describedby": `${id}-found`,
    on: { input: refresh, change: () => pick(false), keydown: (event) => event.key === "Enter" && enter(event) },
  });
  let index = null;
  function matches() {
    const query = searchable(input.value.trim());
    if (query === "") return { query, found: choices.map((_, i) => [2, i]) };
    index ??= indexed(subject, choices);
    const rank = (texts) => (texts.includes(query) ? 0 : texts.some((text) => text.startsWith(query)) ? 1 : 2);
    const found = index.flatMap((texts, i) => (texts.some((text) => text.includes(query)) ? [[rank(texts), i]] : []));
    return { query, found: found.sort((a, b) => a[0] - b[0] || a[1] - b[1]) };
  }
  function refresh() {
    const { query, found } = matches();
    const shown = found.slice(0, SHOWN).map(([, i]) => i);
    if (view.chosen >= 0 && !shown.includes(view.chosen)) shown.unshift(view.chosen);
    draw(shown, query);
    status.textContent = searchStatus(subject, query, found.length, choices.length);
  }
  function pick(orOnly) {
    const { query, found } = matches();
    if (query === "" || found.length === 0) return false;
    if (found[0][0] !== 0 && !(orOnly && found.length === 1)) return false;
    choose(found[0][1]);
    return true;
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
