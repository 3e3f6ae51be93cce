import { parseJson, record } from '../json/json-guard.ts';

/** Counts the arguments with which tools are called: members at the top of each call's object, given as such or as its JSON. */
export function argumentCount(inputs: readonly unknown[]): number {
  return inputs
    .map((input) => record(typeof input === 'string' ? parseJson(input) : input))
    .reduce((sum, input) => sum + Object.keys(input).length, 0);
}
