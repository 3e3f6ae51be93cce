import type { Target } from '@tollgate/audit';
import {
  createCustomer,
  createRoutedModel,
  subscribeWithKey,
  type Customer,
  type NewKey,
  type RoutedModel,
  type Tollgate,
} from '@tollgate/harness';

interface OwnTargetOptions {
  /** Is one of its own by default. */
  model?: RoutedModel;
  customer?: Customer;
  /** Is by default more than a test uses. */
  tokens?: number;
  key?: Partial<NewKey>;
}

/** Makes a key of its own, subscribed to one model, that the first node serves when this resolves. */
export async function createTarget(
  tollgate: Tollgate,
  { model, customer, ...bought }: OwnTargetOptions = {},
): Promise<Target & { modelId: number }> {
  const { id, name } = model ?? (await createRoutedModel(tollgate));
  const apiKey = await subscribeWithKey(customer ?? (await createCustomer(tollgate)), {
    modelIds: [id],
    ...bought,
  });
  await tollgate.admin.syncAll();
  return { origin: tollgate.nodeUrls[0] ?? '', apiKey, model: name, modelId: id };
}
