/** A value as it is typed or stored; null, undefined and NaN are missing. */
export type Value = string | number | bigint | boolean | Date | null | undefined;

/** A record in full detail, by attribute; other fields are ignored, and one that is absent is missing. */
export type FullRecord = { readonly [name: string]: unknown } | ReadonlyMap<string, unknown>;

/** Something that cannot be told: the message names the attribute and never a value. */
export declare class Refusal extends Error {
  constructor(attribute: string | null, message: string);
  readonly attribute: string | null;
}

export interface GroupBucket {
  readonly label: string;
  /** The categories that it holds, as canonical text. */
  readonly values: readonly string[];
}

export interface RangeBucket {
  readonly label: string;
  /** Its upper end, which belongs to it (a date as seconds since 1970); null for the last bucket. */
  readonly upTo: number | null;
  /** The same as ISO text, for dates. */
  readonly upToText?: string | null;
}

export interface AttributeInfo {
  readonly name: string;
  readonly kind: "number" | "ordered" | "category" | "date";
  readonly storage: "text" | "integer" | "float" | "boolean" | "date" | "datetime";
  /** Not collected, collected in buckets, or collected as it is. */
  readonly action: "dropped" | "coarsened" | "kept";
  readonly question: string | null;
  readonly help: string | null;
  /** Its own buckets; null where it is dropped or told in full detail. */
  readonly buckets: readonly (GroupBucket | RangeBucket)[] | null;
  /** The label of the bucket that takes categories which no bucket names; null where there is none. */
  readonly other: string | null;
  /** The label of the bucket that takes missing values; null where there is none. */
  readonly missing: string | null;
  readonly missingRefused: boolean;
  readonly unseenRefused: boolean;
  readonly domain: readonly (string | number | null)[] | null;
  /** Of cells and questionnaires: whether it is told the same way whatever the rest. */
  readonly kept?: boolean;
}

/** What the artifact is known by (64 hexadecimal digits). */
export declare const artifact: string;

/** All attributes in the artifact's order, those that are not collected included. */
export declare const attributes: readonly AttributeInfo[];

export type Prediction = boolean | number | string | null;

export declare const kind: "cells";

/** The cell that a record falls into, numbered from 0. */
export declare function cellOf(record: FullRecord): number;

/** What is told of a record: of each needed attribute what its cell tells. The result has no prototype. */
export declare function generalize(record: FullRecord): { [name: string]: string | number | null };

/** What the model says in a cell; null where it must see more. */
export declare function predictionOf(cell: number): Prediction;

/** All that may be told of an attribute; nothing where it is told in full detail. */
export declare function labels(name: string): string[];

/** What a model is given for a cell: made-up values, and the record's own of attributes that are told besides. */
export declare function representative(
  cell: number,
  record?: FullRecord,
): { [name: string]: string | number | null };
