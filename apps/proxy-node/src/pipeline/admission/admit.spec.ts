import { NO_USAGE } from '@tollgate/contracts';
import { describe, expect, test } from '@jest/globals';
import type { AccessReply, AdmitReply } from '@tollgate/keyspace';
import { parseAsk, type Ask } from '@tollgate/protocols';
import type { SnapshotModel } from '@tollgate/snapshot';
import { pino } from 'pino';
import type { UsageRecorder } from '../../usage/usage-recorder.ts';
import { FailOpen } from '../../usage/fail-open.ts';
import { Admitter } from './admit.ts';
import { DenyCache } from './deny-cache.ts';
import { RechargeWaits } from './recharge-waits.ts';

const CLIENT = { isGone: false, onGone: () => undefined };
const waits = (): RechargeWaits =>
  new RechargeWaits({ waitMs: 0, waitersMax: 1, hint: () => undefined });

/** Has the name that ioredis gives to an error of Redis. */
class ReplyError extends Error {}

const WEIGHT = 1_000_000;
const PRICE = {
  id: 1,
  effective_at: 0,
  weight_input: WEIGHT,
  weight_output: WEIGHT,
  weight_cache_read: WEIGHT,
  weight_cache_write: WEIGHT,
};
const MODEL: SnapshotModel = {
  id: 1,
  name: 'm',
  display_name: 'M',
  kind: 'chat',
  owned_by: 'x',
  created: 0,
  context_window: null,
  max_output_tokens: null,
  unbounded_input_tokens: null,
  is_on_shelf: true,
  prices: [PRICE],
};
const WORDS = 20_000;

/** Asks for admission with a prompt of 20,000 words; says how it was refused, how often Redis was asked, and whether the prompt was put together to be tokenised. */
async function refusedWith(
  reply: AdmitReply,
): Promise<{ code: unknown; asked: number; isTokenised: boolean; hinted: number }> {
  const seen = { asked: 0, isTokenised: false, hinted: 0 };
  const parsed = parseAsk(
    'chat',
    Buffer.from(
      JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'word '.repeat(WORDS) }] }),
    ),
  );
  const text = (): string => {
    seen.isTokenised = true;
    return parsed.prompt.text();
  };
  const ask: Ask = { ...parsed, prompt: { ...parsed.prompt, text } };
  const recorder: UsageRecorder = {
    open: () => {
      throw new Error('nothing was admitted');
    },
    refusal: () => null,
    failOpen: {
      isOn: false,
      remember: () => undefined,
      forget: () => undefined,
      knows: () => false,
      admit: () => null,
    },
    endedUnsent: () => 0,
    refusedForFunds: () => void (seen.hinted += 1),
  };
  const store = {
    admit: (): Promise<AdmitReply> => {
      seen.asked += 1;
      return Promise.resolve(reply);
    },
    access: () => Promise.reject(new Error('not asked')),
    inquire: () => Promise.reject(new Error('not asked')),
  };
  const admitter = new Admitter({
    store,
    recorder,
    denials: new DenyCache(1),
    waits: waits(),
    limits: { concurrencyMax: 1, leaseMs: 1, sliceOutputTokens: 1 },
    node: 'n',
    log: pino({ level: 'silent' }),
  });
  const code: unknown = await admitter
    .admit([{ accountId: 1, hash: 'h' }], {
      rid: 'r',
      receivedAtMs: 1,
      addressHex: '',
      client: CLIENT,
      ask,
      model: MODEL,
      upstreamModels: ['gpt-4'],
      overrun: null,
      price: PRICE,
    })
    .catch((error: { code: unknown }) => error.code);
  return { code, ...seen };
}

test('a request that no count of its prompt could pay for is refused without tokenising it', async () => {
  expect(
    await refusedWith({ kind: 'balance_too_low', balance: 500, subscriptionId: 1, dueTokens: 0 }),
  ).toEqual({
    code: 'balance_too_low',
    asked: 1,
    isTokenised: false,
    hinted: 1,
  });
  expect(
    await refusedWith({ kind: 'tokens_held', balance: 200_000, held: 199_500, dueTokens: 0 }),
  ).toEqual({
    code: 'tokens_held',
    asked: 1,
    isTokenised: false,
    hinted: 1,
  });
});

test('a prompt whose count is above the balance is refused without a second question', async () => {
  expect(
    await refusedWith({ kind: 'balance_too_low', balance: 5_000, subscriptionId: 1, dueTokens: 0 }),
  ).toEqual({ code: 'balance_too_low', asked: 1, isTokenised: true, hinted: 1 });
});

test('a prompt whose count a due purchase may cover is counted and asked about again', async () => {
  expect(
    await refusedWith({
      kind: 'balance_too_low',
      balance: 500,
      subscriptionId: 1,
      dueTokens: WORDS,
    }),
  ).toEqual({ code: 'balance_too_low', asked: 2, isTokenised: true, hinted: 1 });
});

test('a prompt whose count may fit is asked about again', async () => {
  expect(
    await refusedWith({
      kind: 'balance_too_low',
      balance: WORDS + 100,
      subscriptionId: 1,
      dueTokens: 0,
    }),
  ).toEqual({ code: 'balance_too_low', asked: 2, isTokenised: true, hinted: 1 });
});

describe('what Redis said of a key last stands for it alone', () => {
  const KEY = { accountId: 1, hash: 'h' };
  const ADMITTED: AdmitReply = {
    kind: 'admitted',
    grantedTokens: 1,
    availableTokens: 1_000_000_000,
    keyId: 5,
    subscriptionId: 9,
    generation: 1,
    expiresAtMs: 0,
    outputTokensMax: 0,
    epoch: 'e',
    claims: '',
    windows: [],
  };
  const SILENCE = new Error('Command timed out');

  /** Asks with one answer of Redis after the other; says how each request ended, and whether the key could be served alone afterwards. */
  async function after(
    ...answers: (AdmitReply | Error | (AccessReply & { isAccess: true }))[]
  ): Promise<{ codes: unknown[]; isKnown: boolean; alone: number }> {
    const failOpen = new FailOpen({
      allowanceTokens: 1_000_000,
      log: pino({ level: 'silent' }),
      now: () => 1,
      unixNow: () => 1,
    });
    const handle = {
      isBoundHeld: () => true,
      more: () => undefined,
      countAtLeast: () => undefined,
      count: () => undefined,
      room: () => 0,
      grow: () => undefined,
      onStop: () => undefined,
      counted: () => NO_USAGE,
      detach: () => {
        throw new Error('nothing is made in the background here');
      },
      settle: () => undefined,
    };
    const recorder: UsageRecorder = {
      open: () => handle,
      refusal: () => null,
      failOpen,
      endedUnsent: () => 0,
      refusedForFunds: () => undefined,
    };
    const next = (): Promise<never> => {
      const answer = answers.shift();
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as never);
    };
    const admitter = new Admitter({
      store: { admit: next, access: next, inquire: next },
      recorder,
      denials: new DenyCache(1),
      waits: waits(),
      limits: { concurrencyMax: 1, leaseMs: 1, sliceOutputTokens: 1 },
      node: 'n',
      log: pino({ level: 'silent' }),
    });
    const ask = parseAsk(
      'chat',
      Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'go' }] })),
    );
    const codes: unknown[] = [];
    while (answers.length > 0) {
      const [answer] = answers;
      const asked =
        answer && 'isAccess' in answer
          ? admitter.accountOf([KEY], 'a')
          : admitter.admit([KEY], {
              rid: `r${answers.length}`,
              receivedAtMs: 1,
              addressHex: 'a',
              client: CLIENT,
              ask,
              model: MODEL,
              upstreamModels: ['gpt-4'],
              overrun: null,
              price: PRICE,
            });
      codes.push(
        await asked.then(
          () => 'served',
          (error: { code: unknown }) => error.code,
        ),
      );
    }
    return {
      codes,
      isKnown: failOpen.knows({ keyHash: 'h', addressHex: 'a' }),
      alone: failOpen.state.admissions,
    };
  }

  test('silence after an admission is stood in for', async () => {
    expect(await after(ADMITTED, SILENCE)).toEqual({
      codes: ['served', 'served'],
      isKnown: true,
      alone: 1,
    });
  });

  test.each([
    'NOREPLICAS Not enough good replicas to write.',
    "OOM command not allowed when used memory > 'maxmemory'.",
    'MISCONF Redis is configured to save RDB snapshots',
    'LOADING Redis is loading the dataset in memory',
    'ERR user_script:1: oops',
  ])('an error is not: %s', async (message) => {
    expect(await after(ADMITTED, new ReplyError(message))).toMatchObject({
      codes: ['served', 'metering_unavailable'],
      alone: 0,
    });
    expect(await after(ADMITTED, new RangeError('wantTokens'))).toMatchObject({
      codes: ['served', 'metering_unavailable'],
      alone: 0,
    });
  });

  test.each<[AccessReply['kind'], string]>([
    ['key_disabled', 'invalid_api_key'],
    ['account_not_active', 'account_frozen'],
    ['fenced', 'metering_unavailable'],
  ])('a key that was refused before its body was read is not served: %s', async (kind, code) => {
    const refused = { kind, status: 'frozen', isAccess: true } as AccessReply & { isAccess: true };
    expect(await after(ADMITTED, refused, SILENCE)).toEqual({
      codes: ['served', code, 'metering_unavailable'],
      isKnown: false,
      alone: 0,
    });
  });

  test('nor is one whose balance was too low a moment ago', async () => {
    expect(
      await after(
        ADMITTED,
        { kind: 'balance_too_low', balance: 4_200, subscriptionId: 9, dueTokens: 0 },
        SILENCE,
      ),
    ).toEqual({ codes: ['served', 'metering_unavailable'], isKnown: false, alone: 0 });
  });
});
