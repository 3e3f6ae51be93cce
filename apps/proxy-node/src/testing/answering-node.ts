import type { SnapshotModel } from '@tollgate/snapshot';
import { startLocalUpstream, type LocalUpstream } from './local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from './node-under-test.ts';

/** These belong to a node with one model and an upstream that answers every chat alike, for the parts of one spec. */
export let node: NodeUnderTest;
export let upstream: LocalUpstream;
export let model: SnapshotModel;

const USAGE = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
const CHOICE = {
  index: 0,
  message: { role: 'assistant', content: 'hi' },
  finish_reason: 'stop',
};

export async function startAnsweringNode(): Promise<void> {
  node = await startNodeUnderTest({
    BODY_BYTES_MAX: '100000',
    CORS_ORIGINS: 'https://app.example',
  });
  upstream = await startLocalUpstream((response) => {
    const answer = { id: 'c', object: 'chat.completion', created: 1, model: 'x' };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...answer, choices: [CHOICE], usage: USAGE }));
  });
  model = await node.addModel([{ baseUrl: upstream.baseUrl }], { name: 'team/model-a' });
}

export async function stopAnsweringNode(): Promise<void> {
  await node.stop();
  await upstream.close();
}

export const chat = (more: object = {}) => ({
  model: model.name,
  messages: [{ role: 'user', content: 'hello' }],
  ...more,
});

export const messages = (more: object = {}) => ({ ...chat(), max_tokens: 10, ...more });

export interface Errors {
  error: { type: string; code?: string; message: string; param?: string | null };
  request_id?: string;
}

export const bodyOf = async (response: Response) => (await response.json()) as Errors;
