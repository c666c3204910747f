// Cells: a tree of questions about buckets leads every record to one cell, which says what is told.

const place = new Map(data.attributes.map((attribute, column) => [attribute.name, column]));

// The buckets that questions are about; an attribute that is told besides may have others of its own.
const asked = (attribute) => (attribute.kept ? attribute.detail : attribute.told);

const goesLeft = data.questions.map(({ left }) => new Set(left));

// The cell to which a row of codes leads, numbered from 0 as they stand in the tree.
const walk = (codes) => {
  let at = data.questions.length ? 0 : ~0;
  while (at >= 0) {
    const { column, children } = data.questions[at];
    at = children[goesLeft[at].has(codes[column]) ? 0 : 1];
  }
  return ~at;
};

const cellOf = (record) => {
  checkRecord(record);
  const codes = new Array(data.attributes.length).fill(0);
  for (const attribute of needed) {
    codes[place.get(attribute.name)] = codeOf(attribute, asked(attribute), field(record, attribute.name));
  }
  return walk(codes);
};

const checkCell = (cell) => {
  if (!Number.isInteger(cell) || cell < 0 || cell >= data.predictions.length) {
    throw new Refusal(null, `A cell is a whole number from 0 to ${data.predictions.length - 1}.`);
  }
};
