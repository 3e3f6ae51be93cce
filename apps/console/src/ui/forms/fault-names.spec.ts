import { expect, test } from '@jest/globals';
import { namesOf } from './fault-names.ts';

test.each([
  ['a field', 'name', ['name'], 'name'],
  ['a field whose value it is in', 'headers.x-team', ['name', 'headers'], 'headers'],
  ['a field of an object', 'price.weight_input', ['name', 'weight_input'], 'weight_input'],
  [
    'a field of a row in an object',
    'price.tiers.0.weights.weight_input',
    ['weight_input', 'tiers.0.weights.weight_input'],
    'tiers.0.weights.weight_input',
  ],
  [
    'no field, where only its last part has one',
    'tiers.0.weights.weight_input',
    ['weight_input'],
    undefined,
  ],
])('a fault belongs to %s', (_what, path, fields, field) => {
  expect(namesOf(path).find((name) => fields.includes(name))).toBe(field);
});
