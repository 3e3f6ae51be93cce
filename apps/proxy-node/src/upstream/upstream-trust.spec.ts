import { expect, test } from '@jest/globals';
import { OVERRUN_ACCOUNTS_MAX } from './account-overruns.ts';
import { UpstreamTrust } from './upstream-trust.ts';

const HOUR = 3_600_000;
const [ONE, OTHER] = [7, 8] as const;
const by = (accountId: number) => [{ accountId }];
const served = (...ids: number[]) => [ids.map((id) => ({ upstream: { id } }))];
const SILENT = { warn: () => undefined, debug: () => undefined };
const FINE = { doubt: null, overrun: null, excessTokens: 0 };

test('holds of an account cover the largest overrun of its own answers of the last hour, and no longer', () => {
  const trust = new UpstreamTrust(SILENT);
  const doubt = 'output_beyond_limit';
  trust.note(
    { rid: 'r', upstreamId: 1, modelId: 7, accountId: ONE },
    { doubt, overrun: { factor: 7.2, tokens: 60 }, excessTokens: 0 },
    1_000,
  );
  trust.note(
    { rid: 'r', upstreamId: 1, modelId: 7, accountId: ONE },
    { doubt, overrun: { factor: 2, tokens: 500 }, excessTokens: 0 },
    2_000,
  );
  trust.note({ rid: 'r', upstreamId: 1, modelId: 7, accountId: ONE }, FINE, 3_000);
  trust.note(
    { rid: 'r', upstreamId: null, modelId: 7, accountId: ONE },
    { doubt, overrun: { factor: 99, tokens: 99 }, excessTokens: 0 },
    3_000,
  );
  expect(trust.overrunOf(served(2, 1), by(ONE), 4_000)).toEqual({ factor: 7.2, tokens: 500 });
  expect(trust.overrunOf(served(1), by(OTHER), 4_000)).toBeNull();
  expect(trust.overrunOf(served(1), [...by(OTHER), ...by(ONE)], 4_000)).not.toBeNull();
  expect(trust.of(1, 4_000)).toMatchObject({ hold_factor: 8 });
  expect(trust.overrunOf(served(2), by(ONE), 4_000)).toBeNull();
  expect(trust.overrunOf(served(1), by(ONE), 2_000 + HOUR)).toBeNull();
});

test('overruns are remembered of a bounded number of accounts', () => {
  const trust = new UpstreamTrust(SILENT);
  const overrun = { factor: 2, tokens: 100 };
  for (let accountId = 1; accountId <= OVERRUN_ACCOUNTS_MAX + 1; accountId += 1)
    trust.note(
      { rid: 'r', upstreamId: 1, modelId: 7, accountId },
      { doubt: 'output_beyond_limit', overrun, excessTokens: 0 },
      accountId,
    );
  expect(trust.overrunOf(served(1), by(1), 2_000)).toBeNull();
  expect(trust.overrunOf(served(1), by(2), 2_000)).toEqual(overrun);
});

test('doubts are counted over the last hour or two, and forgotten with their upstream', () => {
  const trust = new UpstreamTrust(SILENT);
  for (let report = 0; report < 3; report++)
    trust.note(
      { rid: 'r', upstreamId: 1, modelId: 7, accountId: ONE },
      { doubt: 'prompt_beyond_bound', overrun: null, excessTokens: 0 },
      0,
    );
  expect(trust.of(1, HOUR - 1)).toMatchObject({ doubts: 3, last_doubt: 'prompt_beyond_bound' });
  expect(trust.of(1, HOUR)).toMatchObject({ doubts: 3 });
  expect(trust.of(1, 2 * HOUR)).toMatchObject({ doubts: 0 });
  trust.retain(new Set([2]));
  expect(trust.of(1, 0)).toMatchObject({ last_doubt: null });
});

test('an upstream that is doubted in every answer is one warning a minute with the count; each request is named at level debug', () => {
  const lines: [level: string, fields: object][] = [];
  const trust = new UpstreamTrust({
    warn: (fields: object) => void lines.push(['warn', fields]),
    debug: (fields: object) => void lines.push(['debug', fields]),
  });
  const doubt = 'prompt_below_text';
  const note = (rid: string, upstreamId: number, now: number) =>
    trust.note(
      { rid, upstreamId, modelId: 7, accountId: ONE },
      { doubt, overrun: null, excessTokens: 0 },
      now,
    );
  note('r1', 1, 0);
  note('r2', 1, 59_999);
  note('r3', 2, 59_999);
  note('r4', 1, 60_000);
  expect(lines).toEqual([
    ['warn', { rid: 'r1', upstream_id: 1, doubt, doubts: 1 }],
    ['debug', { rid: 'r2', upstream_id: 1, doubt }],
    ['warn', { rid: 'r3', upstream_id: 2, doubt, doubts: 1 }],
    ['warn', { rid: 'r4', upstream_id: 1, doubt, doubts: 3 }],
  ]);
});

test('what is above the bounds of prompts is remembered by model for two hours, and each log line names it', () => {
  const lines: object[] = [];
  const warn = (fields: object): void => void lines.push(fields);
  const trust = new UpstreamTrust({ warn, debug: () => undefined });
  const exceeds = (modelId: number, excessTokens: number, now: number): void =>
    trust.note(
      { rid: 'r', upstreamId: 1, modelId, accountId: ONE },
      { doubt: 'prompt_beyond_bound', overrun: null, excessTokens },
      now,
    );
  exceeds(7, 300, 0);
  exceeds(7, 500, 10);
  exceeds(8, 20, HOUR);
  expect(lines[0]).toMatchObject({ upstream_id: 1, model_id: 7, excess_tokens: 300 });
  expect(trust.doubted(HOUR)[0]?.excess).toEqual([
    { model_id: 7, answers: 2, tokens: 800, largest: 500 },
    { model_id: 8, answers: 1, tokens: 20, largest: 20 },
  ]);
  expect(trust.doubted(2 * HOUR + 10)[0]?.excess).toMatchObject([{ model_id: 8 }]);
});
