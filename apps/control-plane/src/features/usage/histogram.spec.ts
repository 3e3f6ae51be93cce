import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  BUCKET_COUNT,
  bucketOf,
  emptyHistogram,
  parseHistogram,
  percentiles,
} from './histogram.ts';

test('every value has a bucket, and larger values never an earlier one', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 10_000_000 }),
      fc.integer({ min: 0, max: 10_000_000 }),
      (a, b) => {
        expect(bucketOf(a)).toBeLessThan(BUCKET_COUNT);
        if (a <= b) expect(bucketOf(a)).toBeLessThanOrEqual(bucketOf(b));
      },
    ),
  );
});

test('a percentile lies in the bucket of the value it stands for', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 300_000 }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.5, 0.9, 0.95, 0.99),
      (values, share) => {
        const histogram = emptyHistogram();
        for (const value of values)
          histogram[bucketOf(value)] = (histogram[bucketOf(value)] ?? 0) + 1;
        const exact = values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1] ?? 0;
        const estimate = percentiles(histogram, [share])[0] ?? -1;
        // An estimate on a bound belongs to the buckets on both sides of it.
        expect(Math.abs(bucketOf(estimate) - bucketOf(exact))).toBeLessThanOrEqual(1);
      },
    ),
  );
});

test('a histogram is read as it was written', () => {
  fc.assert(
    fc.property(
      fc.array(fc.maxSafeNat(), { minLength: BUCKET_COUNT, maxLength: BUCKET_COUNT }),
      (histogram) => {
        expect(parseHistogram(histogram.join(','))).toEqual(histogram);
      },
    ),
  );
});

test('several percentiles at once are those of each alone', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 40 }), { minLength: BUCKET_COUNT, maxLength: BUCKET_COUNT }),
      (histogram) => {
        const shares = [0.5, 0.9, 0.95, 0.99];
        expect(percentiles(histogram, shares)).toEqual(
          shares.flatMap((share) => percentiles(histogram, [share])),
        );
      },
    ),
  );
});

test('nothing counted has no percentile', () => {
  expect(percentiles(emptyHistogram(), [0.5, 0.99])).toEqual([null, null]);
});
