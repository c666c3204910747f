export declare const kind: "generalization";

/** What is told of one attribute: its bucket's label; in full detail a number or ISO date, null where it is missing. */
export declare function bucketOf(name: string, value: Value): string | number | null;

/** What is told of a record: each needed attribute's bucket. The result has no prototype. */
export declare function generalize(record: FullRecord): { [name: string]: string | number | null };
