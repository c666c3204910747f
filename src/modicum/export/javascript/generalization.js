// What is told of a record: each needed attribute's bucket.

const bucketOf = (name, value) => {
  const attribute = byName.get(name);
  if (attribute === undefined) throw new Refusal(name, "There is no attribute of this name.");
  return tell(attribute, value);
};

const generalize = (record) => {
  checkRecord(record);
  const result = Object.create(null);
  for (const attribute of needed) result[attribute.name] = tell(attribute, field(record, attribute.name));
  return result;
};
