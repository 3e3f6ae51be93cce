import { plane } from '../../testing/ledger-plane-under-test.ts';

export { ledger, plane } from '../../testing/ledger-plane-under-test.ts';

export const post = (
  path: string,
  token: string,
  body: unknown,
  headers: Record<string, string> = {},
) => plane.call('POST', path, { token, body, headers });
