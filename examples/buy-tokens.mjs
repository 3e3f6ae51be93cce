import { createAdminClient } from '@tollgate/admin-client';
import { readStartFile } from './start-file.mjs';

const { baseUrl, chatModel, user } = readStartFile();
const { data: session } = await createAdminClient({ baseUrl }).POST('/admin-api/auth/login', {
  body: user,
});
if (!session) throw new Error('The user of the demo cannot sign in.');
const tollgate = createAdminClient({ baseUrl, token: session.token });

const { data: models } = await tollgate.GET('/admin-api/models/my');
const model = models?.data.find((each) => each.model === chatModel);
if (!model) throw new Error(`The user of the demo has no subscription for ${chatModel}.`);
console.log(`${model.tokens} tokens of ${chatModel}`);

const { data: bought, error } = await tollgate.POST('/admin-api/models/renew', {
  body: { model_id: model.model_id, tokens: 1000 },
  // A request that is sent again under the same key buys once.
  params: { header: { 'Idempotency-Key': crypto.randomUUID() } },
});
if (!bought) throw new Error(error?.detail ?? 'The purchase was refused.');
console.log(`${bought.tokens} tokens of ${chatModel}, 1000 of them new`);
