// Which codes of an attribute lead to the same, whatever is answered besides: by fingerprints modulo a prime, two of
// them, so that codes which differ are taken for equal with a chance below 1 in 10^15.

const PRIME = 2 ** 31 - 1;

// The product of two residues modulo the prime: no step exceeds 2^53.
const times = (a, b) => (((a * (b >>> 16)) % PRIME) * 65536 + a * (b & 65535)) % PRIME;

// Fixed numbers, spread evenly by mixing a counter.
let counter = 0;
const drawn = () => {
  counter = (counter + 0x9e3779b9) >>> 0;
  let x = counter;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return ((x ^ (x >>> 16)) >>> 1) % PRIME;
};
const draw = (count) => [0, 1].map(() => Float64Array.from({ length: count }, drawn));

const nCells = data.predictions.length;
const axes = [...new Set(data.questions.map(({ column }) => column))].sort((a, b) => a - b);
const sizeOf = (column) => asked(data.attributes[column]).labels.length;

// For each asked attribute which of its codes each cell leaves possible, a row for each cell.
const boxes = new Map(axes.map((column) => [column, new Uint8Array(nCells * sizeOf(column)).fill(1)]));

const clear = (column, codes, first, end) => {
  const [box, size] = [boxes.get(column), sizeOf(column)];
  for (let cell = first; cell < end; cell++) for (const code of codes) box[cell * size + code] = 0;
};

// Both sides of a question are runs of cells, because the tree is in preorder; later questions come first here.
const firstCells = [];
const endCells = [];
for (let at = data.questions.length - 1; at >= 0; at--) {
  const { column, left, children } = data.questions[at];
  const [first, middle] = children.map((child) => (child < 0 ? ~child : firstCells[child]));
  const end = children[1] < 0 ? ~children[1] + 1 : endCells[children[1]];
  [firstCells[at], endCells[at]] = [first, end];
  const others = Array.from({ length: sizeOf(column) }, (_, code) => code).filter((code) => !goesLeft[at].has(code));
  clear(column, others, first, middle);
  clear(column, left, middle, end);
}

const marks = new Map(axes.map((column) => [column, draw(sizeOf(column))]));
const resultMarks = draw(new Set(data.results).size);

// For each cell the sum of an attribute's marks over its open codes.
const weights = (column, open, which) => {
  const [box, size, mark] = [boxes.get(column), sizeOf(column), marks.get(column)[which]];
  const found = new Float64Array(nCells);
  for (let cell = 0; cell < nCells; cell++) {
    let sum = 0;
    for (let code = 0; code < size; code++) if (open[code] && box[cell * size + code]) sum += mark[code];
    found[cell] = sum % PRIME;
  }
  return found;
};

// For each attribute and cell the product of its result's mark and the weights of all other attributes.
const productsOfOthers = (opened, which) => {
  const each = axes.map((column) => weights(column, opened.get(column), which));
  const found = axes.map(() => new Float64Array(nCells));
  for (let cell = 0; cell < nCells; cell++) {
    let before = resultMarks[which][data.results[cell]];
    for (let i = 0; i < axes.length; i++) {
      found[i][cell] = before;
      before = times(before, each[i][cell]);
    }
    let after = 1;
    for (let i = axes.length - 1; i >= 0; i--) {
      found[i][cell] = times(found[i][cell], after);
      after = times(after, each[i][cell]);
    }
  }
  return found;
};

const fingerprints = (column, open, products) => {
  const [box, size] = [boxes.get(column), sizeOf(column)];
  const found = new Float64Array(size);
  for (let cell = 0; cell < nCells; cell++) {
    for (let code = 0; code < size; code++) {
      if (open[code] && box[cell * size + code]) found[code] += products[cell];
    }
  }
  return found.map((sum) => sum % PRIME);
};

// For each asked attribute a key of each code; codes with the same key are equivalent.
const keysOf = (opened) => {
  const [one, two] = [0, 1].map((which) => {
    const products = productsOfOthers(opened, which);
    return axes.map((column, i) => fingerprints(column, opened.get(column), products[i]));
  });
  return new Map(axes.map((column, i) => [column, Array.from(one[i], (sum, code) => `${sum} ${two[i][code]}`)]));
};

const isReached = (cell, opened) =>
  axes.every((column) => {
    const [box, open, size] = [boxes.get(column), opened.get(column), sizeOf(column)];
    return open.some((is, code) => is && box[cell * size + code]);
  });
