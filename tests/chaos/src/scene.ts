import {
  AdminClient,
  createCustomer,
  createRoutedModel,
  subscribeWithKey,
  type Customer,
  type RoutedModel,
  type Tollgate,
} from '@tollgate/harness';
import type { RequestPlan, Target } from '@tollgate/audit';

const CUSTOMERS = 6;
const TOKENS_EACH = 50_000_000;
const RENEWAL_TOKENS = 1_000;
/** Charged one to one, and by weights that leave fractions. */
const WEIGHTS = [{}, { weight_input: '0.3', weight_output: '1.7' }] as const;

/** Several customers, each with a subscription to every model and a key of their own; all of it drawn upon through every node. */
export class Scene {
  readonly #tollgate: Tollgate;
  readonly #models: RoutedModel[];
  readonly #embedding: RoutedModel;
  readonly #customers: { customer: Customer; apiKey: string }[];

  private constructor(
    tollgate: Tollgate,
    models: RoutedModel[],
    embedding: RoutedModel,
    customers: { customer: Customer; apiKey: string }[],
  ) {
    this.#tollgate = tollgate;
    this.#models = models;
    this.#embedding = embedding;
    this.#customers = customers;
  }

  static async set(tollgate: Tollgate): Promise<Scene> {
    const models: RoutedModel[] = [];
    for (const weights of WEIGHTS) models.push(await createRoutedModel(tollgate, weights));
    const embedding = await createRoutedModel(tollgate, { kind: 'embedding' });
    const modelIds = [...models, embedding].map(({ id }) => id);
    const customers = [];
    for (let index = 0; index < CUSTOMERS; index += 1) {
      const customer = await createCustomer(tollgate, { amount: '1000000' });
      customers.push({
        customer,
        apiKey: await subscribeWithKey(customer, { modelIds, tokens: TOKENS_EACH }),
      });
    }
    await tollgate.admin.syncAll();
    return new Scene(tollgate, models, embedding, customers);
  }

  get choices(): { customers: number; models: number; addresses: number } {
    return {
      customers: this.#customers.length,
      models: this.#models.length,
      addresses: this.#tollgate.nodeUrls.length,
    };
  }

  targetOf(plan: RequestPlan): Target {
    const model = plan.protocol === 'embeddings' ? this.#embedding : this.#models[plan.model];
    return {
      origin: this.#tollgate.nodeUrls[plan.address] ?? '',
      apiKey: this.#customers[plan.customer]?.apiKey ?? '',
      model: model?.name ?? '',
    };
  }

  /** Buys tokens while things break. Whether it worked is for the books to say. */
  async renewOne(random: () => number): Promise<void> {
    const { customer } = this.#customers[Math.floor(random() * this.#customers.length)] ?? {};
    const model = this.#models[Math.floor(random() * this.#models.length)];
    const url = this.#tollgate.adminUrls[Math.floor(random() * this.#tollgate.adminUrls.length)];
    if (!customer || !model || url === undefined) return;
    const client = new AdminClient(url, customer.client.token);
    await client
      .call('POST', '/models/renew', { model_id: model.id, tokens: RENEWAL_TOKENS })
      .catch(() => undefined);
  }
}
