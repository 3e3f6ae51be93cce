import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  subscribeWithKey,
  until,
  type Customer,
  type RoutedModel,
} from '@tollgate/harness';
import { browser, startStage, WITHOUT, type Stage } from './stage.ts';

const START_MS = 120_000;
const STORY_MS = 90_000;
const PROMPT = 10;
const OUTPUT = 5;
const SEARCHES = 2;
const SEARCH_TOKENS = 700;

interface Receipt {
  protocol: string;
  basis: string;
  charge: number;
  lines: { class: string; unit: string; count: number; weight: string; charged: string }[];
}

(browser === undefined ? describe.skip : describe)(
  `receipts of what a provider did${WITHOUT}`,
  () => {
    let stage: Stage;
    let provider: Server;
    let searching: RoutedModel;
    let threaded: RoutedModel;
    let customer: Customer;
    let key: string;

    beforeAll(async () => {
      stage = await startStage();
      provider = await searchingProvider();
      const { tollgate } = stage;
      const { port } = provider.address() as AddressInfo;
      searching = await createRoutedModel(tollgate, {
        name: 'searching',
        context_window: 1_000,
        protocols: ['anthropic'],
        upstream: { base_url: `http://127.0.0.1:${port}/v1` },
      });
      await tollgate.admin.call('POST', '/models/pricing', {
        model_id: searching.id,
        price_per_million: '2',
        weight_searches: String(SEARCH_TOKENS),
      });
      threaded = await createRoutedModel(tollgate, {
        name: 'threaded',
        protocols: ['anthropic'],
        upstreamModel: 'claude-haiku-4-5',
        upstream: { endpoints: ['threads'] } as object,
      });
      customer = await createCustomer(tollgate, { username: 'caller' });
      await tollgate.admin.syncAll();
      key = await subscribeWithKey(customer, { modelIds: [searching.id, threaded.id] });
    }, START_MS);

    afterAll(async () => {
      provider?.close();
      await stage?.close();
    }, START_MS);

    const say = async (body: object) => {
      const answer = await fetch(`${stage.address}/v1/messages`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'anthropic-beta': 'message-threads-2026-08-12',
        },
        body: JSON.stringify({ max_tokens: 50, ...body }),
      });
      const message = (await answer.json()) as {
        id: string;
        usage: { input_tokens: number; output_tokens: number };
      };
      return { ...message, status: answer.status, rid: answer.headers.get('x-request-id') ?? '' };
    };
    const receiptOf = (rid: string): Promise<Receipt> =>
      until(`receipt of ${rid}`, () =>
        customer.client
          .call('GET', `/usage/logs/${rid}/receipt`)
          .then((found) => found as Receipt)
          .catch(() => undefined),
      );
    /** Returns what the console shows its customer of a charge: the cells of each class. */
    const shownOf = async (rid: string): Promise<string[][]> => {
      const { page, complaints, context, go } = await stage.open({
        credentials: { username: customer.username, password: customer.password },
      });
      await go(`/usage/${rid}`);
      const shown = page.getByRole('row');
      await shown.first().waitFor();
      const rows = await shown.all();
      const cells = await Promise.all(rows.map((row) => row.getByRole('cell').allInnerTexts()));
      expect(complaints).toEqual([]);
      await context.close();
      return cells;
    };

    test(
      'searches are shown as calls with their own weight, to the customer who pays them',
      async () => {
        const { status, rid } = await say({
          model: searching.name,
          messages: [{ role: 'user', content: 'hi' }],
          tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: SEARCHES }],
        });
        expect(status).toBe(200);
        const charge = PROMPT + OUTPUT + SEARCHES * SEARCH_TOKENS;
        const receipt = await receiptOf(rid);
        expect(receipt).toMatchObject({ charge, basis: 'reported' });
        expect(receipt.lines).toContainEqual({
          class: 'searches',
          unit: 'call',
          count: SEARCHES,
          weight: String(SEARCH_TOKENS),
          charged: String(SEARCHES * SEARCH_TOKENS),
        });
        const shown = await shownOf(rid);
        expect(shown).toContainEqual(['Searches', '2', '× 700', '1400']);
        expect(shown).toContainEqual(['Input', '10', '× 1', '10']);
        expect(shown.at(-1)?.at(-1)).toBe('1,415');
      },
      STORY_MS,
    );

    test(
      'a turn of a thread shows the whole conversation that its provider reports',
      async () => {
        const ask = (content: string, thread: object) =>
          say({ model: threaded.name, messages: [{ role: 'user', content }], thread });
        const first = await ask('@demo tokens=9 one two three', { type: 'create' });
        const second = await ask('@demo tokens=4', {
          type: 'continue',
          previous_message_id: first.id,
        });
        expect(second.usage.input_tokens).toBeGreaterThan(first.usage.input_tokens + 9);
        for (const { status, rid, usage } of [first, second]) {
          expect(status).toBe(200);
          const receipt = await receiptOf(rid);
          expect(receipt).toMatchObject({
            protocol: 'messages',
            basis: 'reported',
            charge: usage.input_tokens + usage.output_tokens,
          });
          expect(receipt.lines).toContainEqual(
            expect.objectContaining({ class: 'input', count: usage.input_tokens }),
          );
          const shown = await shownOf(rid);
          expect(shown).toContainEqual([
            'Input',
            String(usage.input_tokens),
            '× 1',
            String(usage.input_tokens),
          ]);
        }
      },
      STORY_MS,
    );
  },
);

/** Starts a provider that reports its searches as Anthropic does. */
async function searchingProvider(): Promise<Server> {
  const provider = createServer((incoming, response) => {
    incoming.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        type: 'message',
        role: 'assistant',
        content: [{ type: 'text', text: 'ok' }],
        stop_reason: 'end_turn',
        usage: {
          input_tokens: PROMPT,
          output_tokens: OUTPUT,
          server_tool_use: { web_search_requests: SEARCHES },
        },
      }),
    );
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  return provider;
}
