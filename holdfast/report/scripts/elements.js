// Elements, made without a parser: text stays text, whatever it says.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const make = (name, attributes = {}, ...children) =>
  filled(document.createElement(name), attributes, children);
const draw = (name, attributes = {}, ...children) =>
  filled(document.createElementNS(SVG, name), attributes, children);

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

// A share in percent, to a tenth, as the tables round it: a half goes to the even digit.
function percent(share) {
  if (!isNumber(share)) return "–";
  const value = 100 * share;
  return value % 1 === 0.25 ? `${Math.trunc(value)}.2` : value.toFixed(1);
}

const counted = (count, thing) => `${count} ${thing}${count === 1 ? "" : "s"}`;
const seconds = (time) => (isNumber(time) ? `${Number(time.toPrecision(3))} s` : "–");

// A name in which a line may end after each plus.
const breakable = (name) => name.split("+").flatMap((piece, place) => (place ? ["+", make("wbr"), piece] : [piece]));

// A button that is on or off; `changed` hears of every change.
function toggle(label, pressed, changed, attributes = {}) {
  const button = make("button", { type: "button", "aria-pressed": String(pressed), ...attributes }, label);
  button.addEventListener("click", () => changed(button));
  return button;
}

function press(button, pressed) {
  button.setAttribute("aria-pressed", String(pressed));
}

const isPressed = (button) => button.getAttribute("aria-pressed") === "true";
