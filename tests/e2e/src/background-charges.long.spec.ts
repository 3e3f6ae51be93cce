import { describe, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '@tollgate/harness';
import { generationRate, GENERATION_RATE_SPREAD } from '@tollgate/metering';
import {
  begin,
  call,
  eventsOf,
  native,
  node,
  ofProvider,
  shareNode,
} from './background-under-test.ts';

type Model = Awaited<ReturnType<typeof native>>;

interface Begun {
  model: Model;
  id: string;
  rid: string;
  key: string;
  hash: string;
}

interface Final {
  outcome: string;
  basis: string;
  output_tokens: number;
}

shareNode({ BACKGROUND_MS_MAX: '60000' });

async function beginOwn(input: string): Promise<Begun> {
  const model = await native();
  const { key, hash } = await node.putKey({});
  const { body, rid } = await begin(model, input, {}, key);
  return { model, id: body.id, rid, key, hash };
}

/** Reads the run's events from `after` on, until so many of them are words; answers how many were read and the number of the last one. */
async function read(
  { id, key }: Pick<Begun, 'id' | 'key'>,
  words: number,
  after = -1,
): Promise<{ words: number; last: number }> {
  const left = new AbortController();
  const from = after < 0 ? '' : `&starting_after=${after}`;
  const response = await fetch(`${node.url}/v1/responses/${id}?stream=true${from}`, {
    headers: { authorization: `Bearer ${key}` },
    signal: left.signal,
  });
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString('utf8');
    // Each word is an event of more than 100 bytes.
    if (text.length > 100 * words && text.split(DELTA).length > words + 1) break;
  }
  left.abort();
  const events = eventsOf(text.slice(0, text.lastIndexOf('\n\n')));
  return {
    words: events.filter(({ type }) => type === 'response.output_text.delta').length,
    last: events.at(-1)?.sequence_number ?? -1,
  };
}

const DELTA = 'event: response.output_text.delta';

const cancel = ({ id, key }: Begun) => call('POST', `/v1/responses/${id}/cancel`, { key });

function finalOf(rid: string): Promise<Final> {
  return until(
    'the run is settled',
    async () => (await node.journalledFinal(rid).catch(() => undefined)) as Final | undefined,
    15_000,
  );
}

test('what a client read of a response in the background before it cancelled it is charged', async () => {
  const run = await beginOwn('@demo tokens=3000 delay=2');
  const { words } = await read(run, 390);
  expect(words).toBeGreaterThanOrEqual(390);
  expect((await cancel(run)).body.status).toBe('cancelled');
  const final = await finalOf(run.rid);
  expect(final.output_tokens).toBeGreaterThanOrEqual(words);
  expect(final).toMatchObject({
    outcome: 'client_closed',
    output_tokens: ofProvider(run.rid)?.emitted,
  });
}, 30_000);

/** This is faster than any rate that it could be charged by, at a provider that remembers nothing of what it cancels: only what was read says how much it was. */
const FAST = '@demo tokens=3000 delay=5 step=30 mode=forgets';
const READ = 2_900;

describe('what was read of a response in the background is charged when it is ended', () => {
  test.each<[string, string, (run: Begun) => Promise<unknown>]>([
    ['by a cancellation', 'client_closed', cancel],
    [
      'by its deletion',
      'client_closed',
      ({ id, key }) => call('DELETE', `/v1/responses/${id}`, { key }),
    ],
    ['by unsubscribing', 'access_revoked', ({ model }) => node.unsubscribe(model)],
    [
      'by disabling its key',
      'access_revoked',
      ({ hash }) =>
        node.live.putKey(
          node.keyRecord({ keyHash: hash, id: 999_998, status: 'disabled', revision: 2 }),
        ),
    ],
    ['by freezing its account', 'access_revoked', () => putAccount('frozen')],
  ])(
    '%s',
    async (_, outcome, end) => {
      const run = await beginOwn(FAST);
      const { words } = await read(run, READ);
      await end(run);
      const final = await finalOf(run.rid);
      await putAccount('active');
      expect(words).toBeGreaterThanOrEqual(READ);
      expect(final.outcome).toBe(outcome);
      expect(final.output_tokens).toBeGreaterThanOrEqual(words);
      expect(ofProvider(run.rid)?.ending).toBe('aborted');
    },
    30_000,
  );

  test('by a cancellation, also where it was read in pieces', async () => {
    const run = await beginOwn(FAST);
    const first = await read(run, READ / 2);
    const second = await read(run, READ / 2, first.last);
    await cancel(run);
    const { output_tokens: charged } = await finalOf(run.rid);
    expect(charged).toBeGreaterThanOrEqual(first.words + second.words);
  }, 30_000);
});

let revision = 1;

function putAccount(status: string): Promise<unknown> {
  revision += 1;
  return node.live.putAccount({ accountId: 7, status, drain: false, revision });
}

/** Names the upstream's model, by which the nodes under test name each model to its upstream. */
const UPSTREAM_MODEL = 'gpt-4';
const RUN_MS = 2_000;
const POINTS = Array.from({ length: 10 }, (_, point) => (point + 1) / 10);

/** Cancels runs of a mode at ten points of their time. */
async function cancelledAtTenPoints(directive: string): Promise<{ final: Final; rid: string }[]> {
  return Promise.all(
    POINTS.map(async (point) => {
      const run = await beginOwn(directive);
      await delay(RUN_MS * point);
      await cancel(run);
      return { final: await finalOf(run.rid), rid: run.rid };
    }),
  );
}

describe('a response that is cancelled at any of ten points of its time', () => {
  test.each([1 / GENERATION_RATE_SPREAD, 1, GENERATION_RATE_SPREAD])(
    'is charged all it generated unseen, at %d times the usual rate, where it has no report',
    async (factor) => {
      const rate = Math.floor(factor * generationRate(UPSTREAM_MODEL));
      const tokens = 4 * rate;
      const runs = await cancelledAtTenPoints(`@demo mode=hidden tokens=${tokens} rate=${rate}`);
      for (const { final, rid } of runs) {
        const generated = ofProvider(rid)?.emitted ?? 0;
        expect(generated).toBeGreaterThan(0);
        expect(final).toMatchObject({ outcome: 'client_closed', basis: 'estimated' });
        expect(final.output_tokens).toBeGreaterThanOrEqual(0.95 * generated);
      }
    },
    60_000,
  );

  test('is charged what its provider reports, where it reports it a moment later', async () => {
    for (const { final, rid } of await cancelledAtTenPoints(
      '@demo mode=cancel-usage tokens=500 delay=10',
    ))
      expect(final).toMatchObject({
        basis: 'reported',
        output_tokens: ofProvider(rid)?.reported?.output,
      });
  }, 60_000);

  test('is charged what its provider still shows, to the token, where that is all of it', async () => {
    for (const { final, rid } of await cancelledAtTenPoints('@demo tokens=500 delay=10'))
      expect(final).toMatchObject({
        basis: 'estimated',
        output_tokens: ofProvider(rid)?.emitted,
      });
  }, 60_000);
});
