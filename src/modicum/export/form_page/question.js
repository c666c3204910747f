// One question: a fieldset with its choices, its exact value and what there is to say about its answer.

function questionCard(subject, id, changed) {
  return fullDetail(subject) ? fullCard(subject, id, changed) : choiceCard(subject, id, changed);
}

// What both kinds of question have around their answers.
function frame(subject, id, unanswered, clear) {
  const help = subject.help ? foreign("p", subject.help, { class: "soft", id: `${id}-help` }) : null;
  const error = element("p", { class: "error", id: `${id}-error`, hidden: true }, unanswered);
  const note = element("p", { class: "note", hidden: true });
  const legend = foreign("legend", questionOf(subject));
  const again = button(say("clear"), clear, { class: "link", hidden: true });
  again.setAttribute("aria-label", `${say("clear")}: ${questionOf(subject)}`);
  const field = element("fieldset", { class: "question", id }, legend, help, error, note);
  const described = (open) => [help && `${id}-help`, open && `${id}-error`].filter(Boolean).join(" ");
  function complain(open) {
    error.hidden = !open;
    field.classList.toggle("open", open);
    const ids = described(open);
    if (ids) field.setAttribute("aria-describedby", ids);
    else field.removeAttribute("aria-describedby");
  }
  function remark(text) {
    note.textContent = text ?? "";
    note.hidden = !text;
  }
  complain(false);
  return { field, legend, again, complain, remark };
}

function choiceCard(subject, id, changed) {
  const { field, legend, again, complain, remark } = frame(subject, id, say("unanswered"), withdraw);
  const place = element("div");
  const exact = page.exact && !subject.buckets.some((bucket) => "values" in bucket)
    ? exactBox(subject, id, find, (index) => set(index), () => set(-1)) : null;
  let [view, choices, offered] = [null, null, null];
  field.append(place, ...(exact ? [exact.element] : []), again);

  function find(number) {
    const code = codeOf(subject, number);
    const index = choices.findIndex((choice) => !choice.missing && choice.codes.includes(code));
    return index < 0 ? null : { index, text: choices[index].words.text };
  }
  function set(index) {
    if (index < 0) answers.delete(subject.name);
    else answers.set(subject.name, { codes: choices[index].codes, ...(choices[index].missing ? { missing: true } : {}) });
    changed();
  }
  function choose(index) {
    exact?.reset();
    set(index);
  }
  function withdraw() {
    reset();
    set(-1);
    if (!field.hidden) focusOn(legend);
  }
  function reset() {
    exact?.reset();
    if (view?.box) view.box.input.value = "";
  }
  function draw(found) {
    const key = JSON.stringify(found.map((choice) => choice.codes));
    const fewer = choices !== null && found.length < choices.length;
    choices = found;
    if (key === offered) return false;
    offered = key;
    view = choiceList(subject, id, choices, choose);
    fill(place, view.box?.element, view.list);
    return fewer;
  }
  function update(needless) {
    const found = model.choicesOf(subject);
    const fewer = found !== choices && draw(found);
    const answered = answers.has(subject.name);
    const chosen = chosenOf(subject, choices);
    view.mark(chosen);
    again.hidden = !answered;
    if (answered && chosen >= 0) complain(false);
    if (needless) remark(say("noLongerNeeded"));
    else if (answered && chosen < 0) remark(say("finer"));
    else if (fewer) remark(say("coarser"));
    else if (answered) remark(null);
  }
  const focus = () => focusOn(view.box?.input ?? field.querySelector("input:checked") ?? field.querySelector("input"));
  return { subject, field, update, complain, focus, reset };
}

// An attribute that is needed as it is: what is typed is the answer.
function fullCard(subject, id, changed) {
  const { field, again, complain, remark } = frame(subject, id, say("unansweredFull"), withdraw);
  const wrong = element("p", { class: "error", role: "status" });
  const note = element("p", { class: "full", id: `${id}-note` }, say("fullSent"));
  const input = valueInput(subject, `${id}-value`, `${id}-note`, read);
  const label = element("label", { for: `${id}-value`, class: "small" }, say(subject.kind === "date" ? "fullDate" : "fullNumber"));
  const none = subject.missingRefused ? null : element("input", { type: "checkbox", on: { change: refuse } });
  field.append(note, label, input, wrong);
  if (none) field.append(element("label", { class: "choice" }, none, element("span", {}, say("missing"))));
  field.append(again);

  function set(answer) {
    if (answer) answers.set(subject.name, answer);
    else answers.delete(subject.name);
    changed();
  }
  function read() {
    const found = readInput(subject, input);
    wrong.textContent = found.wrong ?? "";
    if (none) none.checked = false;
    set(found.empty || found.wrong ? null : { value: found.value });
  }
  function refuse() {
    input.value = "";
    wrong.textContent = "";
    set(none.checked ? { value: null } : null);
  }
  function reset() {
    input.value = "";
    wrong.textContent = "";
    if (none) none.checked = false;
  }
  function withdraw() {
    reset();
    set(null);
    focusOn(input);
  }
  function update() {
    again.hidden = !answers.has(subject.name);
    if (answers.has(subject.name)) complain(false);
    remark(null);
  }
  return { subject, field, update, complain, focus: () => focusOn(input), reset };
}
