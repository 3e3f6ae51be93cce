import { expect, test } from '@jest/globals';
import { errorInSum, outputsOf } from './estimates.ts';
import { readSamples, RECORDINGS } from './samples.ts';

const samples = readSamples();
const HAS_RECORDINGS = samples.length > 0;
if (!HAS_RECORDINGS) console.log(`skipped: there are no recordings at ${RECORDINGS}`);
const promises = HAS_RECORDINGS ? test : test.skip;

promises.each(['chat', 'messages'] as const)(
  'answers of %s whose usage is not reported are charged within 5 % of it in sum',
  (protocol) => {
    const outputs = outputsOf(protocol, samples);
    expect(outputs.length).toBeGreaterThanOrEqual(10);
    expect(Math.abs(errorInSum(outputs))).toBeLessThanOrEqual(0.05);
  },
);
