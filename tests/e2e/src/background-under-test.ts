import { afterAll, beforeAll, expect } from '@jest/globals';
import type { NodeUnderTest } from '../../../apps/proxy-node/src/testing/node-under-test.ts';
import { startDemoNode, type DemoNode, type SnapshotModel } from './demo-node-under-test.ts';
import type { Listed, NativeBody, NativeEvent } from './native-responses-under-test.ts';

export const BOUGHT = 1_000_000;

export let node: NodeUnderTest;
export let baseUrl: string;
export let record: DemoNode['record'];
let upstreamAndNode: DemoNode;

/** Makes a model of an upstream that speaks /v1/responses, for one test. */
export function native(at = baseUrl): Promise<SnapshotModel> {
  const upstream = { baseUrl: at, overrides: { endpoints: ['responses' as const] } };
  return node.addModel([upstream], { context_window: 10_000 }, BOUGHT);
}

export async function call(
  method: string,
  path: string,
  { key = node.apiKey, body }: { key?: string; body?: object } = {},
): Promise<{ status: number; body: NativeBody; rid: string }> {
  const response = await fetch(`${node.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const rid = response.headers.get('x-request-id') ?? '';
  return { status: response.status, body: (await response.json()) as NativeBody, rid };
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

export function eventsOf(text: string): Listed<NativeEvent> {
  const data = text.split('\n').filter((line) => line.startsWith('data: '));
  return data.map((line) => JSON.parse(line.slice('data: '.length))) as Listed<NativeEvent>;
}

/** Returns all that comes until the stream ends or breaks, and whether it broke. */
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

/** Starts a node, and a demo upstream that speaks /v1/responses; the spec calls it. */
export function shareNode(environment: Record<string, string> = {}): void {
  beforeAll(async () => {
    upstreamAndNode = await startDemoNode({
      BACKGROUND_MS_MAX: '8000',
      BACKGROUND_POLL_MS: '250',
      ...environment,
    });
    ({ node, baseUrl, record } = upstreamAndNode);
  });
  afterAll(() => upstreamAndNode.stop());
}
