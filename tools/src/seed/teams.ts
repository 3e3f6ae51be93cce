import { AdminClient } from '../admin-client.ts';
import type { Credentials } from '../stack/start-file.ts';
import { CHAT_MODEL, EMBEDDING_MODEL, seedDemo } from './demo.ts';
import { ensure, unlessDone } from './ensure.ts';

/** Is one row of the table below: a user and what becomes of it. */
interface Member {
  name: string;
  state: 'active' | 'pending' | 'rejected' | 'frozen';
  amount: string;
  tokens: number;
  rpm: number;
  autoRecharge?: { threshold: number; amount: number };
}

const MEMBERS: readonly Member[] = [
  { name: 'ada', state: 'active', amount: '250', tokens: 2_000_000, rpm: 0 },
  { name: 'bela', state: 'active', amount: '50', tokens: 500_000, rpm: 60 },
  {
    name: 'chika',
    state: 'active',
    amount: '20',
    tokens: 1_000,
    rpm: 10,
    autoRecharge: { threshold: 500, amount: 10_000 },
  },
  { name: 'dmitri', state: 'active', amount: '10', tokens: 0, rpm: 0 },
  {
    name: 'emeka',
    state: 'active',
    amount: '75.5',
    tokens: 900_000,
    rpm: 120,
    autoRecharge: { threshold: 100_000, amount: 500_000 },
  },
  { name: 'fatima', state: 'active', amount: '5', tokens: 100_000, rpm: 5 },
  { name: 'goran', state: 'active', amount: '0.000001', tokens: 0, rpm: 1 },
  { name: 'hana', state: 'frozen', amount: '30', tokens: 300_000, rpm: 30 },
  { name: 'ivo', state: 'frozen', amount: '1', tokens: 0, rpm: 0 },
  { name: 'jun', state: 'pending', amount: '0', tokens: 0, rpm: 0 },
  { name: 'kaya', state: 'pending', amount: '0', tokens: 0, rpm: 0 },
  { name: 'lars', state: 'rejected', amount: '0', tokens: 0, rpm: 0 },
];

/** Needs the demo's models and makes them if need be. All members have the demo user's password. Returns what to print. */
export async function seedTeams(
  admin: AdminClient,
  demo: { user: Credentials; upstreamUrl: string },
): Promise<string> {
  await seedDemo(admin, demo);
  const modelIds = await Promise.all(
    [CHAT_MODEL, EMBEDDING_MODEL].map((name) => modelId(admin, name)),
  );
  for (const member of MEMBERS) await seedMember(admin, member, demo.user.password, modelIds);
  return `${MEMBERS.length} users: ${MEMBERS.map(({ name, state }) => `${name} (${state})`).join(', ')}. Their password is the demo user's.`;
}

function modelId(admin: AdminClient, name: string): Promise<number> {
  return ensure({
    admin,
    list: `/models?q=${name}`,
    matches: (row) => row.name === name,
    create: () => Promise.reject(new Error(`There is no model ${name}.`)),
  });
}

async function seedMember(
  admin: AdminClient,
  { name, state, amount, tokens, rpm, autoRecharge }: Member,
  password: string,
  modelIds: readonly number[],
): Promise<void> {
  const userId = await ensure({
    admin,
    list: `/users?q=${name}`,
    matches: (row) => row.username === name,
    create: () => new AdminClient(admin.baseUrl).register(name, password),
  });
  if (state === 'pending') return;
  if (state === 'rejected') return unlessDone(() => admin.call('POST', `/users/${userId}/reject`));
  const found = (await admin.list(`/users?q=${name}`)).find((row) => row.id === userId);
  if (found?.status !== 'pending') return;
  await admin.approve(userId);
  await admin.adminRecharge({
    userId,
    amount,
    note: 'teams',
    idempotencyKey: `seed-teams-${name}`,
  });
  const client = await admin.login(name, password);
  const auto = autoRecharge && {
    auto_recharge_threshold: autoRecharge.threshold,
    auto_recharge_amount: autoRecharge.amount,
  };
  for (const model_id of modelIds)
    await unlessDone(() => client.subscribe({ model_id, tokens, ...auto }));
  await client.createKey({ name: `${name}'s key`, allowed_models: '*', rpm, rph: 0, rpd: 0 });
  if (state === 'frozen') await admin.call('POST', `/users/${userId}/freeze`);
}
