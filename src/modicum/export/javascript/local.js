// What is told of a record by its cell, and what the cell predicts.

const labels = (name) => {
  const attribute = byName.get(name);
  if (attribute === undefined) throw new Refusal(name, "There is no attribute of this name.");
  if (attribute.told === null) return refuse(name, "is not collected");
  return (attribute.kept ? attribute.told.labels ?? [] : attribute.tells.labels).slice();
};

const generalize = (record) => {
  const cell = cellOf(record);
  const result = Object.create(null);
  for (const attribute of needed) {
    const { name, kept, tells } = attribute;
    result[name] = kept ? tell(attribute, field(record, name)) : tells.labels[tells.byCell[cell]];
  }
  return result;
};

const predictionOf = (cell) => {
  checkCell(cell);
  return data.predictions[cell];
};

const keptValue = (attribute, record) => {
  if (record === undefined) return refuse(attribute.name, "is told besides the cell, so that its record is needed");
  const value = field(record, attribute.name);
  if (!attribute.told.labels) return inFull(attribute, attribute.told, value);
  return attribute.representatives[codeOf(attribute, attribute.told, value)];
};

// What a model is given for a cell: made-up values, and the record's own of what is told besides.
const representative = (cell, record) => {
  checkCell(cell);
  if (record !== undefined) checkRecord(record);
  const result = Object.create(null);
  data.attributes.forEach((attribute, column) => {
    result[attribute.name] = attribute.kept ? keptValue(attribute, record) : data.values[cell][column];
  });
  return result;
};
