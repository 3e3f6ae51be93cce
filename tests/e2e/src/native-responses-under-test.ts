import { afterAll, beforeAll } from '@jest/globals';
import type { NodeUnderTest } from '../../../apps/proxy-node/src/testing/node-under-test.ts';
import { startDemoNode, type DemoNode, type SnapshotModel } from './demo-node-under-test.ts';

export const BOUGHT = 1_000_000;

export let node: NodeUnderTest;
export let baseUrl: string;
let record: DemoNode['record'];
let upstreamAndNode: DemoNode;
export let model: SnapshotModel;

/** Makes a model of an upstream that speaks /v1/responses: of its own, or that of another model. */
export function native(
  change: Partial<SnapshotModel> = {},
  upstreamOf?: SnapshotModel,
): Promise<SnapshotModel> {
  const overrides = { endpoints: ['responses' as const] };
  const upstream = { baseUrl, overrides, ...(upstreamOf && { upstreamOf }) };
  return node.addModel([upstream], { context_window: 10_000, ...change }, BOUGHT);
}

/** Is never empty where a spec reads it. */
export type Listed<Item> = [Item, ...Item[]];

export interface NativeItem {
  id: string;
  type: string;
  role: string;
  content: Listed<{ text: string }>;
}

/** Holds what a call of the interface answers: a response, a part or a list of them, or a refusal. */
export interface NativeBody {
  id: string;
  object: string;
  status: string;
  model: string;
  output: Listed<NativeItem>;
  usage: { input_tokens: number; output_tokens: number; total_tokens: number };
  data: Listed<NativeItem>;
  max_output_tokens: number | null;
  previous_response_id: string | null;
  conversation: { id: string } | null;
  first_id: string;
  last_id: string;
  input_tokens: number;
  error: { message: string; param: string | null; code: string | null };
}

export interface NativeEvent {
  type: string;
  sequence_number: number;
  delta: string;
  item: NativeItem;
  item_id: string;
  response: NativeBody;
}

export interface Answered {
  status: number;
  body: NativeBody;
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
): Promise<{ text: string; events: Listed<NativeEvent>; rid: string }> {
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
    events: data.map((line) => JSON.parse(line.slice('data: '.length))) as Listed<NativeEvent>,
    rid: response.headers.get('x-request-id') ?? '',
  };
}

export const ofProvider = (rid: string | null) => record.list(rid ?? '').at(-1);

/** Starts one node and one demo upstream, which serve all parts; the spec that imports them calls it. */
export function shareNode(): void {
  beforeAll(async () => {
    upstreamAndNode = await startDemoNode();
    ({ node, baseUrl, record } = upstreamAndNode);
    model = await native();
  });
  afterAll(() => upstreamAndNode.stop());
}
