import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PROVIDER_MODELS, providerModelsAt } from '@tollgate/demo-upstream';
import { serviceAccountOf, until } from '@tollgate/harness';
import { ask } from './ask.ts';
import { receiptOf, usedByWinner } from './receipt.ts';
import { PROTOCOLS, TwoUpstreams, type ProviderRoute } from './two-upstreams.ts';

/** A stated failure, a limit, and a connection that breaks before the head. */
const FAULTS = ['500', '429', 'dies-first'];
const SHAPES = FAULTS.flatMap((fault) =>
  PROTOCOLS.flatMap((protocol) => [false, true].map((isStream) => ({ fault, protocol, isStream }))),
);

let two: TwoUpstreams;
beforeAll(async () => {
  two = await TwoUpstreams.start();
}, 60_000);
afterAll(() => two?.tollgate.stop());

describe.each(PROVIDER_MODELS)('a route of $name', ({ name }) => {
  let provider: ProviderRoute;

  beforeAll(async () => {
    const models = providerModelsAt(two.tollgate.upstreamUrl, await serviceAccountOf(two.tollgate));
    const found = models.find((model) => model.name === name);
    if (!found) throw new Error(`${name} is not at the demo upstream`);
    provider = await two.addProvider(found.upstream);
    const alone = {
      protocol: 'chat',
      modes: ['ok'],
      provider: { at: 'first', ...provider },
    } as const;
    const [model = ''] = await two.addModels([alone]);
    // An identity gets its first token beside its requests.
    await until('it answers', async () => {
      const { isWhole } = await ask(two, { protocol: 'chat', model, isStream: true });
      return isWhole;
    });
  }, 60_000);

  test.each(['first', 'second'] as const)(
    'is the %s of two: what the first does not answer the second does, and it alone is charged',
    async (at) => {
      const models = await two.addModels(
        SHAPES.map(({ fault, protocol }) => ({
          ...{ protocol, modes: [fault, 'ok'] as const },
          provider: { at, ...provider },
        })),
      );
      const asked = await Promise.all(
        SHAPES.map(async (shape, place) => ({
          shape,
          seen: await ask(two, { ...shape, model: models[place] ?? '' }),
        })),
      );
      for (const { shape, seen } of asked) {
        expect({ ...shape, ...seen }).toMatchObject({ status: 200, isWhole: true });
        const { route, ...booked } = await receiptOf(two, seen.rid);
        const charge = await usedByWinner(two, seen.rid);
        expect({ ...shape, ...booked }).toEqual({ ...shape, outcome: 'completed', charge });
        const winner = route.pop();
        const isProvider = winner?.upstream_id === provider.upstreamId;
        expect({ ...winner, isProvider }).toMatchObject({
          status: 200,
          isProvider: at === 'second',
        });
        // A route whose failure may pass is asked twice.
        expect(route.length).toBeGreaterThan(0);
        for (const { error, upstream_id } of route) {
          expect(error).toEqual(expect.any(String));
          expect(upstream_id === provider.upstreamId).toBe(at === 'first');
        }
      }
    },
    120_000,
  );
});
