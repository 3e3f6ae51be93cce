import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { createDemoUpstream } from '@tollgate/demo-upstream';
import {
  startNodeUnderTest,
  type NodeUnderTest,
} from '../../../apps/proxy-node/src/testing/node-under-test.ts';

type SnapshotModel = Awaited<ReturnType<NodeUnderTest['addModel']>>;
type Loose = ReturnType<typeof JSON.parse>;

export const BOUGHT = 1_000_000;
const { server, record } = createDemoUpstream();
export { record };

export let node: NodeUnderTest;
export let baseUrl: string;

/** A model of an upstream that speaks /v1/responses, for one test. */
export function native(at = baseUrl): Promise<SnapshotModel> {
  const upstream = { baseUrl: at, overrides: { endpoints: ['responses' as const] } };
  return node.addModel([upstream], { context_window: 10_000 }, BOUGHT);
}

export async function call(
  method: string,
  path: string,
  { key = node.apiKey, body }: { key?: string; body?: object } = {},
): Promise<{ status: number; body: Loose; rid: string }> {
  const response = await fetch(`${node.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const rid = response.headers.get('x-request-id') ?? '';
  return { status: response.status, body: await response.json(), rid };
}

export function begin(
  model: SnapshotModel,
  input: string,
  fields: object = {},
  key = node.apiKey,
): ReturnType<typeof call> {
  return call('POST', '/v1/responses', {
    key,
    body: { model: model.name, input, background: true, ...fields },
  });
}

export function stream(
  model: SnapshotModel,
  input: string,
  signal?: AbortSignal,
): Promise<Response> {
  const body = { model: model.name, input, background: true, stream: true };
  return fetch(`${node.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${node.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
}

export function eventsOf(text: string): Loose[] {
  const data = text.split('\n').filter((line) => line.startsWith('data: '));
  return data.map((line): Loose => JSON.parse(line.slice('data: '.length)));
}

/** All that comes until the stream ends or breaks, and whether it broke. */
export async function readAll(
  response: Response,
  onText: (text: string) => void = () => undefined,
): Promise<{ text: string; isBroken: boolean }> {
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString('utf8');
      onText(text);
    }
    return { text, isBroken: false };
  } catch {
    return { text, isBroken: true };
  }
}

export const ofProvider = (rid: string) => record.list(rid).at(-1);

export async function charged(model: SnapshotModel): Promise<number> {
  return BOUGHT - (await node.settledBalance(model));
}

export function reportedOf(rid: string): number {
  const { reported } = ofProvider(rid) ?? {};
  expect(reported).toBeTruthy();
  return (reported?.prompt ?? 0) + (reported?.output ?? 0);
}

/** Called by the spec: a node, and a demo upstream that speaks /v1/responses. */
export function shareNode(): void {
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    node = await startNodeUnderTest({ BACKGROUND_MS_MAX: '8000', BACKGROUND_POLL_MS: '1000' });
  });
  afterAll(async () => {
    await node.stop();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
}
