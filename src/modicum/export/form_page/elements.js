// Elements are made here and nowhere else: text only ever becomes text.

const strings = page.strings;

function say(key, values = {}) {
  return strings[key].replace(/\{(\w+)\}/g, (whole, place) => (place in values ? String(values[place]) : whole));
}

// element("p", {class: "soft", on: {click}}, "text", child): attributes that are null or false are left out.
function element(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(given)) {
    if (key === "on") {
      for (const [event, action] of Object.entries(value)) made.addEventListener(event, action);
    } else if (value !== null && value !== false && value !== undefined) {
      made.setAttribute(key, value === true ? "" : value);
    }
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// A text that comes from the artifact or from a person: it may be in any script, in either direction.
function foreign(tag, text, given = {}) {
  return element(tag, { dir: "auto", ...given }, text);
}

function button(text, action, given = {}) {
  return element("button", { type: "button", on: { click: action }, ...given }, text);
}

function fill(parent, ...children) {
  parent.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
  return parent;
}

function focusOn(target) {
  if (!target.matches("input, button, a, summary")) target.setAttribute("tabindex", "-1");
  target.focus();
}

// What a screen reader is told without the focus moving; one place for the whole page.
const announcer = element("div", { class: "unseen", "aria-live": "polite", role: "status" });

function announce(text) {
  announcer.textContent = text;
}
