/** What a model is given for a cell: made-up values, and the record's own of attributes that are told besides. */
export declare function representative(
  cell: number,
  record?: FullRecord,
): { [name: string]: string | number | null };
