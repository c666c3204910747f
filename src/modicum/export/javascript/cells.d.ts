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
