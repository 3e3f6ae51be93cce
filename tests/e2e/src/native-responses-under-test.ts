import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from '@jest/globals';
import { createDemoUpstream } from '@tollgate/demo-upstream';
import {
  startNodeUnderTest,
  type NodeUnderTest,
} from '../../../apps/proxy-node/src/testing/node-under-test.ts';

type SnapshotModel = Awaited<ReturnType<NodeUnderTest['addModel']>>;

export const BOUGHT = 1_000_000;
const { server, record } = createDemoUpstream();

export let node: NodeUnderTest;
export let baseUrl: string;
export let model: SnapshotModel;

/** A model of an upstream that speaks /v1/responses. */
export function native(change: Partial<SnapshotModel> = {}): Promise<SnapshotModel> {
  const upstream = { baseUrl, overrides: { endpoints: ['responses' as const] } };
  return node.addModel([upstream], { context_window: 10_000, ...change }, BOUGHT);
}

export type Loose = ReturnType<typeof JSON.parse>;

export interface Answered {
  status: number;
  body: Loose;
  rid: string | null;
}

export async function ask(fields: object, key = node.apiKey): Promise<Answered> {
  return call('POST', '/v1/responses', {
    key,
    body: { model: model.name, input: 'hi', ...fields },
  });
}

export async function call(
  method: string,
  path: string,
  { key = node.apiKey, body }: { key?: string; body?: object } = {},
): Promise<Answered> {
  const response = await fetch(`${node.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const rid = response.headers.get('x-request-id');
  return { status: response.status, body: text === '' ? null : JSON.parse(text), rid };
}

export async function streamed(
  fields: object,
): Promise<{ text: string; events: Loose[]; rid: string }> {
  const response = await node.post('/v1/responses', {
    model: model.name,
    input: '@demo tokens=4',
    stream: true,
    ...fields,
  });
  const text = await response.text();
  const data = text.split('\n').filter((line) => line.startsWith('data: '));
  return {
    text,
    events: data.map((line): Loose => JSON.parse(line.slice('data: '.length))),
    rid: response.headers.get('x-request-id') ?? '',
  };
}

export const ofProvider = (rid: string | null) => record.list(rid ?? '').at(-1);

/** Called by the spec that imports the parts: one node and one demo upstream serve them all. */
export function shareNode(): void {
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    node = await startNodeUnderTest();
    model = await native();
  });
  afterAll(async () => {
    await node.stop();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
}
