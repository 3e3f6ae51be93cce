import { PROVIDER_MODELS, providerModelsAt, administered } from '@tollgate/demo-upstream';
import {
  createCustomer,
  createRoutedModel,
  serviceAccountOf,
  startTollgate,
  subscribeWithKey,
  type Customer,
  type RoutedModel,
  type Tollgate,
  until,
} from '@tollgate/harness';
import { z } from 'zod';
import type { Errand } from './client.ts';
import { Wiretap, type Call } from './wiretap.ts';

/** A turn that continues a thread names the sealed id of the last answer. */
export const CONTINUES = /"previous_message_id":\s*"msg_tg/;

const TOKENS = 50_000_000;
/** Is a balance into which no prompt fits. */
const TOO_FEW_TOKENS = 1;

/** Names models behind a provider each. */
export const PROVIDER_NAMES: readonly string[] = PROVIDER_MODELS.map(({ name }) => name);
/** Names one model of each interface, for clients that take seconds to start. */
export const FEW_PROVIDER_NAMES: readonly string[] = [
  ...new Map(
    PROVIDER_MODELS.toReversed().map(({ name }) => [name.split(/[ ,]/)[0], name]),
  ).values(),
];

/** Has one node, and for each protocol a model that only the named protocol's upstream serves; `native` is of an openai upstream that speaks /v1/responses, `threads` of an anthropic one that keeps threads. */
export interface Scene {
  tollgate: Tollgate;
  models: Record<'openai' | 'anthropic' | 'native' | 'threads' | 'vectors', RoutedModel>;
  /** Holds a model behind each provider, by its name in `PROVIDER_NAMES`. */
  providers: ReadonlyMap<string, RoutedModel>;
  key: string;
  /** Belongs to an account that has bought next to nothing. */
  poorKey: string;
}

export async function setScene(): Promise<Scene> {
  const tollgate = await startTollgate({ nodes: 1 });
  const models = {
    openai: await createRoutedModel(tollgate, { protocols: ['openai'] }),
    anthropic: await createRoutedModel(tollgate, { protocols: ['anthropic'] }),
    native: await createRoutedModel(tollgate, {
      protocols: ['openai'],
      upstream: { endpoints: ['responses'] },
      context_window: 100_000,
    }),
    threads: await createRoutedModel(tollgate, {
      protocols: ['anthropic'],
      upstream: { endpoints: ['threads'] },
    }),
    vectors: await createRoutedModel(tollgate, { protocols: ['openai'], kind: 'embedding' }),
  };
  const providers = new Map<string, RoutedModel>();
  const account = await serviceAccountOf(tollgate);
  for (const { name, upstream } of providerModelsAt(tollgate.upstreamUrl, account))
    providers.set(
      name,
      await createRoutedModel(tollgate, { ...administered(upstream), context_window: 100_000 }),
    );
  const modelIds = [...Object.values(models), ...providers.values()].map(({ id }) => id);
  const [rich, poor]: Customer[] = [await createCustomer(tollgate), await createCustomer(tollgate)];
  const key = await subscribeWithKey(rich as Customer, { modelIds, tokens: TOKENS });
  const poorKey = await subscribeWithKey(poor as Customer, { modelIds, tokens: TOO_FEW_TOKENS });
  await tollgate.admin.syncAll();
  await Promise.all([...providers.values()].map((model) => answered(tollgate, model, key)));
  return { tollgate, models, providers, key, poorKey };
}

/** An identity gets its first token beside its requests. */
async function answered({ nodeUrls }: Tollgate, { name }: RoutedModel, key: string): Promise<void> {
  await until(`${name} answers`, async () => {
    const { status } = await fetch(`${nodeUrls[0]}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: name,
        messages: [{ role: 'user', content: '@demo tokens=1' }],
      }),
    });
    return status === 200;
  });
}

function modelNamed({ models, providers }: Scene, name: string): RoutedModel {
  const known: Readonly<Record<string, RoutedModel>> = models;
  const model = known[name] ?? providers.get(name);
  if (!model) throw new Error(`the scene has no model ${name}`);
  return model;
}

/** Runs one errand through a wiretap, and says what went over the wire, however it ended. */
export async function overTheWire<T>(
  scene: Scene,
  errand: { model: string; prompt: string; apiKey?: string },
  run: (errand: Errand) => Promise<T>,
): Promise<{ outcome: PromiseSettledResult<T>; tap: Wiretap }> {
  const { tollgate, key } = scene;
  const tap = new Wiretap(tollgate.nodeUrls[0] ?? '');
  const origin = await tap.open();
  try {
    const [outcome] = await Promise.allSettled([
      run({
        origin,
        apiKey: errand.apiKey ?? key,
        model: modelNamed(scene, errand.model).name,
        prompt: errand.prompt,
      }),
    ]);
    return { outcome: outcome as PromiseSettledResult<T>, tap };
  } finally {
    await tap.close();
  }
}

const usageRow = z.looseObject({
  rid: z.string(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  basis: z.string(),
  outcome: z.string(),
});

/** Returns what the books say of these requests together, once all have arrived. */
export async function booked(
  { tollgate }: Scene,
  calls: readonly Call[],
): Promise<{ input: number; output: number; outcomes: string[] }> {
  const lost = calls.flatMap(({ dropped }) => dropped ?? []);
  if (lost.length > 0)
    throw new Error(`an upstream with known fields did not get ${lost.join(', ')}`);
  const rows = await Promise.all(calls.map(({ rid }) => rowOf(tollgate, rid)));
  const sum = (pick: (row: z.infer<typeof usageRow>) => number): number =>
    rows.reduce((total, row) => total + pick(row), 0);
  return {
    input: sum((row) => row.input_tokens),
    output: sum((row) => row.output_tokens),
    outcomes: rows.map((row) => `${row.outcome}, ${row.basis}`),
  };
}

async function rowOf({ admin }: Tollgate, rid: string): Promise<z.infer<typeof usageRow>> {
  const [row] = await until(`a usage row of ${rid}`, async () => {
    const rows = await admin.list(`/usage/logs?rid=${rid}`);
    return rows.length > 0 && rows;
  });
  return usageRow.parse(row);
}
