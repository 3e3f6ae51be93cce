import { expect, test } from '@jest/globals';
import type { AdmitReply } from '@tollgate/keyspace';
import { parseAsk, type Ask } from '@tollgate/protocols';
import type { SnapshotModel } from '@tollgate/snapshot';
import { pino } from 'pino';
import type { Books } from '../usage/books.ts';
import { Admitter } from './admit.ts';
import { DenyCache } from './deny-cache.ts';

const WEIGHT = 1_000_000;
const PRICE = { id: 1, effective_at: 0, weight_input: WEIGHT, weight_output: WEIGHT, weight_cache_read: WEIGHT, weight_cache_write: WEIGHT };
const MODEL: SnapshotModel = { id: 1, name: 'm', display_name: 'M', kind: 'chat', owned_by: 'x', created: 0, context_window: null, max_output_tokens: null, unbounded_input_tokens: null, is_on_shelf: true, prices: [PRICE] };
const WORDS = 20_000;

/** Asks for admission with a prompt of 20,000 words; says how it was refused, how often Redis was asked, and whether the prompt was put together to be tokenised. */
async function refusedWith(reply: AdmitReply): Promise<{ code: unknown; asked: number; isTokenised: boolean; hinted: number }> {
  const seen = { asked: 0, isTokenised: false, hinted: 0 };
  const parsed = parseAsk('chat', Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'word '.repeat(WORDS) }] })));
  const text = (): string => {
    seen.isTokenised = true;
    return parsed.prompt.text();
  };
  const ask: Ask = { ...parsed, prompt: { ...parsed.prompt, text } };
  const books: Books = {
    open: () => {
      throw new Error('nothing was admitted');
    },
    refusal: () => null,
    failOpen: { isOn: false, remember: () => undefined, forget: () => undefined, admit: () => null },
    refusedForFunds: () => void (seen.hinted += 1),
  };
  const store = {
    admit: (): Promise<AdmitReply> => {
      seen.asked += 1;
      return Promise.resolve(reply);
    },
    access: () => Promise.reject(new Error('not asked')),
  };
  const admitter = new Admitter({ store, books, denials: new DenyCache(1), limits: { concurrencyMax: 1, leaseMs: 1, sliceOutputTokens: 1 }, node: 'n', log: pino({ level: 'silent' }) });
  const code: unknown = await admitter.admit([{ accountId: 1, hash: 'h' }], { rid: 'r', receivedAtMs: 1, addressHex: '', ask, model: MODEL }).catch((error: { code: unknown }) => error.code);
  return { code, ...seen };
}

test('a request that no count of its prompt could pay for is refused without tokenising it', async () => {
  expect(await refusedWith({ kind: 'balance_too_low', balance: 500, subscriptionId: 1 })).toEqual({ code: 'balance_too_low', asked: 1, isTokenised: false, hinted: 1 });
  expect(await refusedWith({ kind: 'tokens_held', balance: 200_000, held: 199_500 })).toEqual({ code: 'tokens_held', asked: 1, isTokenised: false, hinted: 1 });
});

test('a prompt whose count is above the balance is refused without a second question', async () => {
  expect(await refusedWith({ kind: 'balance_too_low', balance: 5_000, subscriptionId: 1 })).toEqual({ code: 'balance_too_low', asked: 1, isTokenised: true, hinted: 1 });
});

test('a prompt whose count may fit is asked about again', async () => {
  expect(await refusedWith({ kind: 'balance_too_low', balance: WORDS + 100, subscriptionId: 1 })).toEqual({ code: 'balance_too_low', asked: 2, isTokenised: true, hinted: 1 });
});
