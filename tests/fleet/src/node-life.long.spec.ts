import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { closeClient } from '@tollgate/audit';
import { startTollgate, type Tollgate, until } from '@tollgate/harness';
import OpenAI from 'openai';
import { z } from 'zod';
import { fleetStatus, syncOutcomes, workerPids } from './fleet-view.ts';
import { closeBooks, setScene, SteadyLoad, type Scene } from './steady-load.ts';

/** One node has two workers behind one port: the tests show what happens to its requests when a worker dies and when the node is stopped. */
let tollgate: Tollgate;
let scene: Scene;
let origin: string;

beforeAll(async () => {
  tollgate = await startTollgate({
    nodes: 1,
    env: { WORKERS: '2', DRAIN_TIMEOUT_MS: '1500', HOLD_LEASE_MS: '6000' },
  });
  scene = await setScene(tollgate);
  origin = tollgate.nodeUrls[0] ?? '';
}, 60_000);
afterAll(async () => {
  closeClient();
  await tollgate?.stop();
}, 30_000);

const usageRow = z.looseObject({ outcome: z.string(), output_tokens: z.number() });

function client(): OpenAI {
  return new OpenAI({ baseURL: `${origin}/v1`, apiKey: scene.key, maxRetries: 0 });
}
/** Returns the words of a stream through the official client, and how it ended. */
async function readStream(
  prompt: string,
  onFirst: () => void,
): Promise<{ words: number; rid: string; error: unknown }> {
  const { data, response } = await client()
    .chat.completions.create({
      model: scene.model.name,
      stream: true,
      messages: [{ role: 'user', content: prompt }],
    })
    .withResponse();
  const rid = response.headers.get('x-request-id') ?? '';
  let words = 0;
  try {
    for await (const chunk of data) {
      if (!chunk.choices[0]?.delta.content) continue;
      words += 1;
      if (words === 1) onFirst();
    }
    return { words, rid, error: null };
  } catch (error) {
    return { words, rid, error };
  }
}
async function usageOf(rid: string): Promise<z.infer<typeof usageRow>> {
  let rows: unknown[] = [];
  await until(
    `usage of ${rid}`,
    async () => (rows = await tollgate.admin.list(`/usage/logs?rid=${rid}`)).length > 0,
  );
  return usageRow.parse(rows[0]);
}

describe('two workers behind one port', () => {
  test('both serve, each with its own report, and sync-all speaks for both', async () => {
    expect(await syncOutcomes(tollgate)).toEqual({ 'node-1': 'applied' });
    const { version, nodes } = await fleetStatus(tollgate);
    expect(nodes[0]?.workers.map((worker) => [worker.worker, worker.version])).toEqual([
      [0, version],
      [1, version],
    ]);
  });

  test('a scrape of either returns the figures of both', async () => {
    const load = new SteadyLoad([origin], scene);
    await until('a running load', () => load.records.length > 40);
    const completed = (await load.stop()).filter(({ ending }) => ending === 'completed').length;
    const scrape = async (): Promise<string> =>
      (
        await fetch(`${origin}/metrics`, {
          headers: { authorization: `Bearer ${tollgate.secrets.fleet}`, connection: 'close' },
        })
      ).text();
    const counts = (text: string): string[] =>
      text.match(
        /^gen_ai_client_operation_duration_seconds_count\{.*outcome="completed".*\} \d+$/gm,
      ) ?? [];
    const texts = await Promise.all(Array.from({ length: 20 }, scrape));
    for (const text of texts) {
      expect(text.match(/^tollgate_ready\{.*\} 1$/gm)).toHaveLength(2);
      expect(
        counts(text).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0),
      ).toBeGreaterThanOrEqual(completed);
    }
    expect(new Set(texts.map((text) => JSON.stringify(counts(text)))).size).toBe(1);
  }, 60_000);

  test('kill -9 of one under load loses nothing and charges nothing twice; it comes back under its own index', async () => {
    const load = new SteadyLoad([origin], scene);
    await until('a running load', () => load.records.length > 40);
    const before = workerPids(tollgate, 'node-1');
    for (const index of [1, 0]) {
      process.kill(before.get(index) ?? 0, 'SIGKILL');
      await until(
        `worker ${index} again`,
        () => workerPids(tollgate, 'node-1').get(index) !== before.get(index),
      );
      // A worker that died is never reported as applied by what it said before.
      expect(await syncOutcomes(tollgate)).toEqual({ 'node-1': 'applied' });
      const since = load.records.length;
      await until('a running load', () => load.records.length > since + 40);
    }
    await closeBooks(tollgate, await load.stop(), { wereKilled: true });
    expect(load.count('completed')).toBeGreaterThan(80);
    expect([...workerPids(tollgate, 'node-1').keys()].toSorted((a, b) => a - b)).toEqual([0, 1]);
  }, 90_000);
});

describe('a node that is asked to stop', () => {
  test('finishes a running stream and its books before it ends', async () => {
    let stopped: Promise<void> = Promise.resolve();
    const stream = await readStream('@demo tokens=20 delay=40', () => {
      stopped = tollgate.kill('node-1', 'SIGTERM');
    });
    expect(stream).toMatchObject({ words: 20, error: null });
    await stopped;
    await tollgate.restart('node-1');
    expect(await usageOf(stream.rid)).toMatchObject({ outcome: 'completed', output_tokens: 20 });
  }, 60_000);

  test('ends a stream that outlasts the drain with an error the client understands, billed for what was delivered', async () => {
    let stopped: Promise<void> = Promise.resolve();
    const stream = await readStream('@demo tokens=500 delay=20', () => {
      stopped = tollgate.kill('node-1', 'SIGTERM');
    });
    expect(stream.error).toBeInstanceOf(OpenAI.APIError);
    expect(String(stream.error)).toContain('restarted');
    await stopped;
    await tollgate.restart('node-1');
    const row = await usageOf(stream.rid);
    expect(row.outcome).toBe('node_stopped');
    expect(stream.words).toBeGreaterThan(40);
    expect(row.output_tokens).toBeGreaterThanOrEqual(stream.words);
    // The upstream had sent a part that the node had not passed on yet.
    expect(row.output_tokens).toBeLessThanOrEqual(stream.words + 3);
    await closeBooks(tollgate, [], { wereKilled: true });
  }, 60_000);
});
