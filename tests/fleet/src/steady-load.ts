import {
  auditBooks,
  compareUsage,
  readDemoRecord,
  describeFindings,
  isSound,
  planRequests,
  readUsage,
  sendRequest,
  type ClientRecord,
  type Finding,
} from '@tollgate/audit';
import {
  createCustomer,
  createRoutedModel,
  subscribeWithKey,
  type Customer,
  type RoutedModel,
  type Tollgate,
  letPass,
  answerWithin,
} from '@tollgate/harness';

const PLANS = 100_000;
const PAUSE_AFTER_FAILURE_MS = 50;

export interface Scene {
  customer: Customer;
  model: RoutedModel;
  key: string;
}

/** Makes one customer with plenty of tokens for one model, known to every node. */
export async function setScene(tollgate: Tollgate): Promise<Scene> {
  const model = await createRoutedModel(tollgate);
  const customer = await createCustomer(tollgate, { amount: '1000000' });
  const key = await subscribeWithKey(customer, { modelIds: [model.id], tokens: 50_000_000 });
  await tollgate.admin.syncAll();
  return { customer, model, key };
}

/** Runs clients that continue until they are stopped, and records everything. */
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
      .filter(({ protocol }) => protocol === 'chat' || protocol === 'messages')
      // The one model is routed to both protocols, so it sells no dearer service.
      .map((plan) => ({ ...plan, isPremium: false }))
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
  const deadline = Date.now() + drainMs;
  let findings: Finding[] = [];
  // Records are written to Redis again after an outage: a promised record is not lost. A lost record stays lost, and is reported.
  const areClosed = await answerWithin(drainMs, async () => {
    const books = await auditBooks(tollgate, { drainMs: Math.max(0, deadline - Date.now()) });
    const provider = await readDemoRecord(tollgate.upstreamUrl);
    findings = [
      ...compareUsage({
        clients,
        provider,
        usage: await readUsage(tollgate.databaseUrl),
        wereKilled,
      }),
      ...books,
    ];
    return isSound(findings);
  });
  if (!areClosed) throw new Error(describeFindings(findings));
}
