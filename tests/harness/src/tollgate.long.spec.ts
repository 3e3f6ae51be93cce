import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createCustomer, createRoutedModel, subscribeWithKey } from './customer.ts';
import { startTollgate, type Tollgate } from './tollgate.ts';

const START_TIMEOUT_MS = 120_000;

let tollgate: Tollgate;
let key: string;

beforeAll(async () => {
  tollgate = await startTollgate({ nodes: 2, frontDoor: true });
  const model = await createRoutedModel(tollgate, { name: 'model' });
  const customer = await createCustomer(tollgate);
  key = await subscribeWithKey(customer, { modelIds: [model.id], tokens: 100_000 });
  await tollgate.admin.syncAll();
}, START_TIMEOUT_MS);
afterAll(() => tollgate?.stop(), START_TIMEOUT_MS);

async function ask(url: string): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'model', messages: [{ role: 'user', content: 'Hello!' }] }),
  });
  await response.text();
  return response.status;
}

test('serves a customer through every node and through the front door', async () => {
  expect(
    await Promise.all([...tollgate.nodeUrls, tollgate.frontDoorUrl as string].map(ask)),
  ).toEqual([200, 200, 200]);
});

test(
  'brings a killed node back on its address',
  async () => {
    await tollgate.kill('node-1');
    expect(tollgate.isRunning('node-1')).toBe(false);
    await expect(ask(tollgate.nodeUrls[0] as string)).rejects.toThrow();
    expect(await ask(tollgate.frontDoorUrl as string)).toBe(200);
    await tollgate.restart('node-1');
    expect(await ask(tollgate.nodeUrls[0] as string)).toBe(200);
  },
  START_TIMEOUT_MS,
);

test('names the processes it has when asked for one it has not', () => {
  expect(() => tollgate.logs('node-9')).toThrow(/node-1, node-2/);
});
