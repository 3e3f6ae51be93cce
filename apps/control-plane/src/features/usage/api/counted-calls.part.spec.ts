import { expect, test } from '@jest/globals';
import { usageEvent } from '../../../testing/ledger-under-test.ts';
import { get, ledger, subscribed, worker } from './usage-api-under-test.ts';

const USED = { input_tokens: 10, output_tokens: 5 };

test('searches stand as calls in receipts, logs, exports and statistics, and in no count of tokens', async () => {
  const parts = await subscribed();
  const { body: price } = await ledger.asAdmin('POST', '/models/pricing', {
    model_id: parts.model.id,
    price_per_million: 2,
    weight_searches: '700',
  });
  const used = { price_version_id: price.id, ...USED };
  const plain = usageEvent(15, { ...parts, final: { ...used, charge: 15 } });
  const searched = usageEvent(1_415, {
    ...parts,
    final: { ...used, searches: 2, charge: 1_415 },
  });
  await worker.process([plain, searched]);
  const mine = async (path: string) =>
    (await get(path as never, parts.account.token)).body as never;

  const { lines, charge, explanation }: Record<string, unknown> = await mine(
    `/usage/logs/${searched.rid}/receipt`,
  );
  expect(charge).toBe(1_415);
  expect(lines).toContainEqual({
    class: 'searches',
    unit: 'call',
    count: 2,
    weight: '700',
    charged: '1400',
  });
  expect(lines).toContainEqual(
    expect.objectContaining({ class: 'input', unit: 'token', count: 10 }),
  );
  expect(explanation).toMatch(/^Tokens and calls as the upstream reported them/);

  const without: Record<string, unknown> = await mine(`/usage/logs/${plain.rid}/receipt`);
  expect(JSON.stringify(without['lines'])).not.toContain('searches');
  expect(without['explanation']).toMatch(/^Tokens as the upstream reported them/);

  expect(await mine(`/usage/logs?rid=${searched.rid}`)).toMatchObject({
    data: [{ ...USED, searches: 2, charge: 1_415 }],
  });
  expect(await mine('/usage/statistics')).toMatchObject({
    data: [{ input_tokens: 20, output_tokens: 10, searches: 2, charge: 1_430 }],
  });
  const [head = '', ...rows] = String(await mine('/usage/logs?format=csv'))
    .trimEnd()
    .split('\r\n');
  const at = head.split(',').indexOf('searches');
  expect(rows.map((row) => row.split(',')[at]).sort()).toEqual(['0', '2']);
});
