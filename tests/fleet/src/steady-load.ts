import { setTimeout as delay } from 'node:timers/promises';
import {
  auditBooks,
  compareUsage,
  demoRecordSchema,
  describeFindings,
  isSound,
  planRequests,
  readUsage,
  sendRequest,
  type ClientRecord,
} from '@tollgate/audit';
import {
  createCustomer,
  createRoutedModel,
  subscribeWithKey,
  type Customer,
  type RoutedModel,
  type Tollgate,
  letPass,
} from '@tollgate/harness';

const PLANS = 100_000;
const PAUSE_AFTER_FAILURE_MS = 50;
const LOOK_AGAIN_MS = 500;

export interface Scene {
  customer: Customer;
  model: RoutedModel;
  key: string;
}

/** One customer with plenty of tokens for one model, known to every node. */
export async function setScene(tollgate: Tollgate): Promise<Scene> {
  const model = await createRoutedModel(tollgate);
  const customer = await createCustomer(tollgate, { amount: '1000000' });
  const key = await subscribeWithKey(customer, { modelIds: [model.id], tokens: 50_000_000 });
  await tollgate.admin.syncAll();
  return { customer, model, key };
}

/** Clients that continue until they are stopped, and record everything. */
export class SteadyLoad {
  readonly records: ClientRecord[] = [];
  readonly #clients: Promise<void>[];
  #isOver = false;

  constructor(
    origins: readonly string[],
    { key, model }: Scene,
    { clients = 8, seed = 1 }: { clients?: number; seed?: number } = {},
  ) {
    const plans = planRequests(PLANS, seed, { customers: 1, models: 1, addresses: origins.length })
      .filter(({ protocol }) => protocol !== 'embeddings')
      .values();
    const client = async (): Promise<void> => {
      for (const plan of plans) {
        if (this.#isOver) return;
        const record = await sendRequest(plan, {
          origin: origins[plan.address] ?? '',
          apiKey: key,
          model: model.name,
        });
        this.records.push(record);
        if (record.ending === 'refused' || record.ending === 'unreached')
          await letPass(PAUSE_AFTER_FAILURE_MS, 'an outage must not use up the plans');
      }
    };
    this.#clients = Array.from({ length: clients }, client);
  }

  count(ending: ClientRecord['ending']): number {
    return this.records.filter((record) => record.ending === ending).length;
  }

  /** Resolves when the last running request has ended. */
  async stop(): Promise<ClientRecord[]> {
    this.#isOver = true;
    await Promise.all(this.#clients);
    return this.records;
  }
}

/** Throws, with what differs, unless clients, upstream, PostgreSQL and Redis tell the same of every request, once what is on its way has arrived. */
export async function closeBooks(
  tollgate: Tollgate,
  clients: readonly ClientRecord[],
  { wereKilled, drainMs = 60_000 }: { wereKilled: boolean; drainMs?: number },
): Promise<void> {
  for (const deadline = Date.now() + drainMs; ; await delay(LOOK_AGAIN_MS)) {
    const books = await auditBooks(tollgate, { drainMs: Math.max(0, deadline - Date.now()) });
    const provider = demoRecordSchema.parse(
      await (await fetch(`${tollgate.upstreamUrl}/record`)).json(),
    );
    const findings = [
      ...compareUsage({
        clients,
        provider,
        usage: await readUsage(tollgate.databaseUrl),
        wereKilled,
      }),
      ...books,
    ];
    if (isSound(findings)) return;
    // Records are written to Redis again after an outage: a promised record is not lost. A lost record stays lost, and is reported.
    if (Date.now() >= deadline) throw new Error(describeFindings(findings));
  }
}
