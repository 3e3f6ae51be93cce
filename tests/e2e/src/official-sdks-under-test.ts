import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, expect } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  startTollgate,
  subscribeWithKey,
  type Customer,
  type RoutedModel,
  type Tollgate,
} from '@tollgate/harness';
import OpenAI from 'openai';

/** The official clients run against real nodes, PostgreSQL, Redis and BullMQ; the demo upstream is the provider. */
export let tollgate: Tollgate;
export let customer: Customer;
export let chat: RoutedModel;
export let embedding: RoutedModel;
/** Is a model with routes to an upstream that speaks /v1/responses. */
export let native: RoutedModel;
export let key: string;

export const PATHS = ['front door', 'first node', 'second node'] as const;
export type Path = (typeof PATHS)[number];
const TOKENS = 1_000_000;

export function originOf(path: Path): string {
  const url =
    path === 'front door'
      ? tollgate.frontDoorUrl
      : tollgate.nodeUrls[path === 'first node' ? 0 : 1];
  if (url === undefined) throw new Error(`no ${path}`);
  return url;
}
export function openai(path: Path = 'front door', apiKey = key): OpenAI {
  return new OpenAI({ baseURL: `${originOf(path)}/v1`, apiKey, maxRetries: 0 });
}
export function anthropic(path: Path = 'front door', apiKey = key): Anthropic {
  return new Anthropic({ baseURL: originOf(path), apiKey, maxRetries: 0 });
}
export const say = (content: string): { role: 'user'; content: string }[] => [
  { role: 'user', content },
];

/** Starts one installation and one customer, which serve all parts; the spec that imports them calls it. */
export function shareTollgate(): void {
  beforeAll(async () => {
    tollgate = await startTollgate({ nodes: 2, frontDoor: true });
    customer = await createCustomer(tollgate);
    chat = await createRoutedModel(tollgate);
    embedding = await createRoutedModel(tollgate, { kind: 'embedding' });
    native = await createRoutedModel(tollgate, {
      protocols: ['openai'],
      upstream: { endpoints: ['responses'] },
      context_window: 10_000,
    });
    const modelIds = [chat.id, embedding.id, native.id];
    key = await subscribeWithKey(customer, { modelIds, tokens: TOKENS });
    const { nodes } = await tollgate.admin.syncAll();
    expect(nodes.map((node) => node.outcome)).toEqual(['applied', 'applied']);
  }, 60_000);
  afterAll(() => tollgate?.stop(), 30_000);
}
