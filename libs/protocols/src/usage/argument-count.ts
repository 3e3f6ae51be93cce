import { parseJson, record } from '../json/json-guard.ts';

/** How many arguments tools are called with: members at the top of each call's object, given as such or as its JSON. */
export function argumentCount(inputs: readonly unknown[]): number {
  return inputs
    .map((input) => record(typeof input === 'string' ? parseJson(input) : input))
    .reduce((sum, input) => sum + Object.keys(input).length, 0);
}
