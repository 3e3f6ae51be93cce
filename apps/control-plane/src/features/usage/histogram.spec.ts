import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { BUCKET_COUNT, bucketOf, emptyHistogram, percentile } from './histogram.ts';

test('every value has a bucket, and larger values never an earlier one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000_000 }), fc.integer({ min: 0, max: 10_000_000 }), (a, b) => {
      expect(bucketOf(a)).toBeLessThan(BUCKET_COUNT);
      if (a <= b) expect(bucketOf(a)).toBeLessThanOrEqual(bucketOf(b));
    }),
  );
});

test('a percentile lies in the bucket of the value it stands for', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 300_000 }), { minLength: 1, maxLength: 200 }), fc.constantFrom(0.5, 0.9, 0.95, 0.99), (values, share) => {
      const histogram = emptyHistogram();
      for (const value of values) histogram[bucketOf(value)] = (histogram[bucketOf(value)] ?? 0) + 1;
      const exact = values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1] ?? 0;
      const estimate = percentile(histogram, share) ?? -1;
      // An estimate on a bound belongs to the buckets on both sides of it.
      expect(Math.abs(bucketOf(estimate) - bucketOf(exact))).toBeLessThanOrEqual(1);
    }),
  );
});

test('nothing counted has no percentile', () => {
  expect(percentile(emptyHistogram(), 0.5)).toBeNull();
});
