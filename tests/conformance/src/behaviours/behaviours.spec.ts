import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { BEHAVIOURS, THROUGH_A_NODE } from './behaviours.ts';

const ROOT = path.resolve(import.meta.dirname, '../../../..');
/** Matches `behaviour 7: ...`, `behaviours 8, 9, 12: ...` in the name of a test or of its group. */
const NAME =
  /\b(?:test|it|describe)\b[^\n]*\bbehaviours? (\d+(?:(?:, | and )\d+)*)|^\s*(?:\[?['"`])behaviours? (\d+(?:(?:, | and )\d+)*)/gm;

/** Spec files by the behaviours their tests are named by. */
function provers(): Map<number, string[]> {
  const files = globSync(
    ['apps/*/src/**/*.spec.ts', 'libs/*/src/**/*.spec.ts', 'tests/*/src/**/*.spec.ts'],
    { cwd: ROOT },
  );
  const found = files.flatMap((file) =>
    numbersIn(readFileSync(path.join(ROOT, file), 'utf8')).map((number) => ({ file, number })),
  );
  return new Map(
    [...Map.groupBy(found, ({ number }) => number)].map(([number, proofs]) => [
      number,
      proofs.map(({ file }) => file),
    ]),
  );
}

function numbersIn(source: string): number[] {
  return [...source.matchAll(NAME)].flatMap(([, named, listed]) =>
    ((named ?? listed ?? '').match(/\d+/g) ?? []).map(Number),
  );
}

const proved = provers();

test.each(
  Object.entries(BEHAVIOURS).map(([number, promise]) => [Number(number), promise] as const),
)('promise %i is proved by a test named by it: %s', (number) => {
  expect(proved.get(number) ?? []).not.toEqual([]);
});

test.each(THROUGH_A_NODE)('promise %i is proved through a real node', (number) => {
  expect(
    (proved.get(number) ?? []).filter((file) => /^(?:apps\/proxy-node|tests)\//.test(file)),
  ).not.toEqual([]);
});
