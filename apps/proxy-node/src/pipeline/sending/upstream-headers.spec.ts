import { expect, test } from '@jest/globals';
import type { SnapshotModel } from '@tollgate/snapshot';
import { upstreamHeaders } from './upstream-headers.ts';

type Candidate = Parameters<typeof upstreamHeaders>[1];

test('the name of the upstream is fit for a header, whatever characters it has', () => {
  const model = { failover: { names_upstream: true } } as SnapshotModel;
  const named = (name: string): string | undefined =>
    upstreamHeaders(model, { upstream: { name } } as Candidate)['x-tollgate-upstream'];
  expect(named('Provider EU (2)')).toBe('Provider EU (2)');
  expect(named('Z\u00fcrich\r\nx: y')).toBe('Z%C3%BCrich%0D%0Ax: y');
  expect(named('\ud800')).toBe('%EF%BF%BD');
});
