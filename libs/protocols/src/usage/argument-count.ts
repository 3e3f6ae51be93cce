import { parseJson, record } from '../json/json-guard.ts';

/** Counts the arguments of tool calls: the top-level members of each call's object, given as an object or as its JSON. */
export function argumentCount(inputs: readonly unknown[]): number {
  return inputs
    .map((input) => record(typeof input === 'string' ? parseJson(input) : input))
    .reduce((sum, input) => sum + Object.keys(input).length, 0);
}
