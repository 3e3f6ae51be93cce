import { z } from 'zod';

const made = z.object({ id: z.number() });
const planned = z.object({ digest: z.string() });

type Go = (route: `${string} ${string}`, body?: unknown) => Promise<unknown>;

/** Plans and applies each kind of bulk change, on records of its own. */
export async function walkBulk(go: Go): Promise<void> {
  const key = made.parse(await go('POST /keys', { name: 'walked-in-bulk' }));
  const act = { act: 'keys.disable', ids: [key.id] };
  await go('POST /bulk/apply', { ...act, ...planned.parse(await go('POST /bulk/plan', act)) });
  const upstream = made.parse(
    await go('POST /upstreams', {
      name: 'walked-in-bulk',
      protocol: 'openai',
      base_url: 'http://127.0.0.1:8999/v1',
    }),
  );
  await go(`POST /upstreams/${upstream.id}/models`);
  const models = { upstream_id: upstream.id, models: [{ upstream_model: 'walked-in-bulk' }] };
  const plan = planned.parse(await go('POST /bulk/plan-models', models));
  await go('POST /bulk/apply-models', { ...models, ...plan });
}
