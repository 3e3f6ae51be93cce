import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';
import {
  chunk,
  messageEnd,
  messageStart,
  messageText,
  TEXT_START,
} from '../testing/chat-stream.ts';

describe.each(['openai', 'anthropic'] as const)(
  'a prompt of documents that only the %s upstream can count',
  (protocol) => {
    const DOCUMENT = 100_000;
    const usage = {
      prompt_tokens: DOCUMENT,
      completion_tokens: 100_000,
      total_tokens: DOCUMENT + 100_000,
    };
    const WORDS = ' word'.repeat(40);
    const ANSWERS = {
      openai: {
        start: chunk({ role: 'assistant', content: '' }),
        text: chunk({ content: WORDS }),
        end:
          chunk({}, 'stop').replace('"choices"', `"usage":${JSON.stringify(usage)},"choices"`) +
          'data: [DONE]\n\n',
      },
      anthropic: {
        start: messageStart(DOCUMENT) + TEXT_START,
        text: messageText(WORDS),
        end: messageEnd(100_000),
      },
    };
    let node: NodeUnderTest;
    let upstream: LocalUpstream;

    beforeAll(async () => {
      node = await startNodeUnderTest();
      const { start, text, end } = ANSWERS[protocol];
      upstream = await startLocalUpstream(async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(start);
        for (let sent = 0; sent < 2_500 && !response.destroyed; sent += 10) {
          if (!response.write(text.repeat(10)))
            await Promise.race([once(response, 'drain'), once(response, 'close')]);
        }
        response.end(end);
      });
    });
    afterAll(async () => {
      await node.stop();
      await upstream.close();
    });

    test('is covered while the answer goes on: the balance is not overdrawn', async () => {
      const balance = DOCUMENT + 6_000;
      const model = await node.addModel(
        [{ baseUrl: upstream.baseUrl, protocol, overrides: { passes_file_ids: true } }],
        { unbounded_input_tokens: DOCUMENT },
        balance,
      );
      const source = {
        type: 'document',
        source: { type: 'url', url: 'https://example.com/a.pdf' },
      };
      const file = { type: 'file', file: { file_id: 'file-1' } };
      const [path, part] =
        protocol === 'anthropic' ? ['/v1/messages', source] : ['/v1/chat/completions', file];
      const ask = {
        model: model.name,
        stream: true,
        max_tokens: 100_000,
        messages: [{ role: 'user', content: [part] }],
      };
      await (
        await node.post(
          path,
          ask,
          protocol === 'anthropic' ? { 'anthropic-version': '2023-06-01' } : {},
        )
      ).text();
      expect(await node.settledBalance(model)).toBeGreaterThanOrEqual(0);
    });
  },
);

describe('an upstream that sends megabytes a second', () => {
  const STREAMS = 20;
  const BALANCE = 400_000;
  let node: NodeUnderTest;
  let upstream: LocalUpstream;

  beforeAll(async () => {
    node = await startNodeUnderTest();
    const waiting: ServerResponse[] = [];
    upstream = await startLocalUpstream((response) => {
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write(chunk({ role: 'assistant', content: '' }));
      // None begins before all are admitted: the first could use the balance up alone.
      if (waiting.push(response) === STREAMS)
        for (const each of waiting) pump(each, chunk({ content: ' word' }).repeat(200));
    });
  });
  afterAll(async () => {
    await node.stop();
    await upstream.close();
  });

  function pump(response: ServerResponse, events: string): void {
    while (!response.destroyed && response.write(events));
    if (!response.destroyed) response.once('drain', () => pump(response, events));
  }

  test('cannot run ahead of the hold: twenty streams use a balance up together and overdraw it by nothing', async () => {
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, BALANCE);
    const ask = {
      model: model.name,
      stream: true,
      max_tokens: 10_000_000,
      messages: [{ role: 'user', content: 'go' }],
    };
    const texts = await Promise.all(
      Array.from({ length: STREAMS }, async () =>
        (await node.post('/v1/chat/completions', ask)).text(),
      ),
    );
    expect(
      texts.filter(
        (text) => text.includes('"finish_reason":"length"') && text.endsWith('data: [DONE]\n\n'),
      ).length,
    ).toBe(STREAMS);
    const balance = await node.settledBalance(model);
    expect(balance).toBeGreaterThanOrEqual(0);
    expect(balance).toBeLessThan(BALANCE / 10);
  });
});
