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

export declare const kind: "questionnaire";

export interface Choice {
  readonly label: string;
  /** The codes of the buckets that it stands for. */
  readonly codes: readonly number[];
}

export interface Question {
  readonly name: string;
  /** Null where the exact value is asked for. */
  readonly choices: readonly Choice[] | null;
}

/** A choice or its codes; for an attribute that is asked for its exact value that value. */
export type Answer = Choice | readonly number[] | Value;

/** Answers by attribute. An object forgets the order of names that look like whole numbers; a Map or pairs do not. */
export type Answers =
  | ReadonlyMap<string, Answer>
  | readonly (readonly [string, Answer])[]
  | { readonly [name: string]: Answer };

export interface State {
  /** What may still be asked; nothing once it is decided. */
  readonly questions: readonly Question[];
  readonly decided: boolean;
  readonly prediction: Prediction;
  /** Where a model must see values and all is told: the record to give it, where the module has representatives. */
  readonly values: { readonly [name: string]: string | number | null } | null;
  /** What was answered, in words. */
  readonly told: { readonly [name: string]: string };
  /** The cells that are still possible. */
  readonly cells: readonly number[];
}

/** Where the questionnaire stands after some answers, whatever their order. */
export declare function state(answers?: Answers | null): State;

/** What a record answers to one of a state's questions. */
export declare function answerOf(state: State, name: string, record: FullRecord): Answer;

/** All that a record answers when questions come in an order, the artifact's by default, until it is decided. */
export declare function answersOf(record: FullRecord, order?: readonly string[]): Map<string, Answer>;

/** The least of these answers, in the order in which they were given, that still decides. */
export declare function least(answers: Answers): Map<string, Answer>;

/** What is sent: the least of the answers, by the labels of the buckets that are left possible. */
export declare function recordOf(answers: Answers): { [name: string]: string[] | string | number | null };
