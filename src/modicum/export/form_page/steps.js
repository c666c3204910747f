// The page: questions, preview, thanks. Nothing is stored; the only request is the one that sends.

const root = document.getElementById("page");
const main = element("main");
const cards = model.all.map((subject, i) => questionCard(subject, `q${i}`, refresh));
const bar = element("progress", { max: "1", "aria-labelledby": "progress" });
const counted = element("span", { id: "progress" });
const progress = element("div", { class: "progress" }, counted, bar);
const summary = element("div", { class: "summary", hidden: true });
let sent = false;
const unasked = element("details", { class: "unasked" });

function refresh() {
  model.update();
  const asked = new Set(model.asked());
  const needless = new Set(model.needless());
  for (const card of cards) {
    card.field.hidden = !asked.has(card.subject);
    if (card.field.hidden) card.reset();
    else card.update(needless.has(card.subject.name));
  }
  summary.hidden = true;
  showProgress();
  showUnasked();
}

function showProgress() {
  const open = model.open();
  const count = Math.max(model.first ?? model.all.length, answers.size);
  const text = say(kind === "questionnaire" && open.length === 0 ? "progressDone" : "progress", {
    answered: numberText(answers.size), count: numberText(count),
  });
  if (counted.textContent !== text && counted.textContent !== "") announce(text);
  counted.textContent = text;
  progress.classList.toggle("done", open.length === 0);
  bar.value = open.length === 0 ? 1 : answers.size / Math.max(count, 1);
}

function showUnasked() {
  const asked = new Set(model.asked());
  const never = subjects.filter((subject) => subject.action === "dropped");
  const now = model.all.filter((subject) => !asked.has(subject));
  const list = (names) => element("ul", {}, ...names.map((subject) => foreign("li", nameOf(subject))));
  fill(
    unasked,
    element("summary", {}, `${say("notAsked")} (${numberText(never.length + now.length)})`),
    never.length ? element("p", { class: "soft" }, say("notAskedText")) : null,
    never.length ? list(never) : null,
    now.length ? element("p", { class: "soft" }, say("notAskedNow")) : null,
    now.length ? list(now) : null,
  );
  unasked.hidden = never.length + now.length === 0;
}

function showQuestions(focus) {
  const heading = foreign("h1", page.title);
  const intro = model.all.length === 0 ? "nothingAsked" : kind === "questionnaire" ? "introQuestionnaire" : "intro";
  const more = intro === "introQuestionnaire" ? element("p", { class: "soft" }, say("intro")) : null;
  const form = element(
    "form",
    { autocomplete: "off", novalidate: true, on: { submit: (event) => event.preventDefault() } },
    ...cards.map((card) => card.field),
  );
  const check = button(say("check"), goOn, { class: "primary" });
  fill(
    main,
    element("header", {}, heading, element("p", {}, say(intro)), more),
    model.all.length ? progress : null,
    summary,
    form,
    unasked,
    element("div", { class: "actions" }, check),
  );
  if (focus) focusOn(heading);
}

function goOn() {
  const open = new Set(model.open());
  if (open.size === 0) {
    history.pushState({ step: "preview" }, "");
    showPreview();
    return;
  }
  const wanting = cards.filter((card) => open.has(card.subject));
  for (const card of wanting) card.complain(true);
  const heading = element("h2", {}, say("summary", { count: numberText(wanting.length) }));
  const links = wanting.map((card) => element("li", {}, openLink(card)));
  const text = say(kind === "questionnaire" ? "summaryTextAny" : "summaryText");
  fill(summary, heading, element("p", {}, text), element("ul", {}, ...links));
  summary.hidden = false;
  focusOn(heading);
}

function openLink(card) {
  const jump = (event) => {
    event.preventDefault();
    card.focus();
    card.field.scrollIntoView({ block: "start" });
  };
  return foreign("a", questionOf(card.subject), { href: `#${card.field.id}`, on: { click: jump } });
}

// A random name for what is sent, the same while the answers are: sent again after a lost reply, they are kept once.
let named = { answers: null, id: null };

function nameFor(record) {
  const text = JSON.stringify(record);
  if (named.answers !== text) named = { answers: text, id: randomId() };
  return named.id;
}

// A version 4 UUID; crypto.randomUUID is not there on pages without a certificate.
function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function showPreview() {
  const record = model.record();
  const id = page.endpoint === null ? {} : { id: nameFor(record) };
  const text = JSON.stringify({ generalization: artifact, ...id, record }, null, 2); // shown, and sent as it is
  const heading = element("h1", {}, say(page.endpoint === null ? "previewFile" : "previewTitle"));
  const status = element("p", { class: "status", role: "status" });
  fill(
    main,
    heading,
    previewTable(record),
    jsonDetails(text),
    element("section", { class: "stays" }, element("h2", {}, say("staysTitle")), staying(record)),
    status,
    element("div", { class: "actions" }, ...(page.endpoint === null ? keeping(text, status) : [sending(text, status)]),
      button(say("back"), () => history.back(), { class: "plain" })),
  );
  focusOn(heading);
}

function sending(text, status) {
  const send = button(say("send"), async () => {
    if (send.getAttribute("aria-disabled") === "true") return;
    send.setAttribute("aria-disabled", "true");
    tell(say("sending"), false);
    const { id, complaint } = await post(text);
    send.removeAttribute("aria-disabled");
    if (complaint === undefined) return showThanks(id);
    tell(complaint, true);
    send.textContent = say("retry");
  }, { class: "primary" });
  function tell(text, failed) {
    status.textContent = text;
    status.classList.toggle("failed", failed);
  }
  return send;
}

async function post(text) {
  try {
    const response = await fetch(page.endpoint, {
      method: "POST", body: text, headers: { "Content-Type": "application/json" },
      credentials: "omit", referrerPolicy: "no-referrer", redirect: "error", cache: "no-store",
    });
    const answer = await response.json().catch(() => null);
    if (response.ok) return { id: typeof answer?.id === "string" ? answer.id : null };
    const detail = typeof answer?.detail === "string" ? answer.detail : response.status;
    return { complaint: say("failed", { detail }) };
  } catch {
    return { complaint: say("unreachable") };
  }
}

function keeping(text, status) {
  const file = "answers.json";
  const save = () => {
    const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    element("a", { href: address, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    status.textContent = say("saved", { file });
  };
  const copy = () => navigator.clipboard.writeText(text).then(
    () => (status.textContent = say("copied")), () => (status.textContent = say("notCopied")));
  const copyButton = navigator.clipboard ? button(say("copy"), copy, { class: "plain" }) : null;
  return [button(say("save"), save, { class: "primary" }), copyButton].filter(Boolean);
}

// Everything that was typed or chosen goes with the elements that held it.
function showThanks(id) {
  sent = true;
  answers.clear();
  for (const card of cards) card.reset();
  cards.length = 0;
  typed.clear();
  named = { answers: null, id: null };
  const heading = element("h1", {}, say("thanks"));
  const receipt = id === null ? null : foreign("p", say("receipt", { id }), { class: "receipt" });
  fill(main, heading, element("p", {}, say("thanksText")), receipt);
  focusOn(heading);
}

addEventListener("popstate", ({ state: at }) => {
  if (sent) return;
  if (at?.step === "preview" && model.open().length === 0) showPreview();
  else showQuestions(true);
});
fill(root, main, announcer);
refresh();
showQuestions(false);
