import { describe, expect, test } from '@jest/globals';
import { until } from '@tollgate/harness';
import {
  ask,
  knownModel,
  manners,
  node,
  second,
  shareNode,
  SLOW_MS,
  unfinished,
  USED,
} from './hedged-race-under-test.ts';

shareNode();

describe('a stream that is slower than usual', () => {
  test.each(['slow', 'mute'] as const)(
    '(%s) is answered by a second upstream, which alone is charged',
    async (manner) => {
      const model = await knownModel();
      const before = await node.settledBalance(model);
      manners.first = manner;
      const { text, rid, ms } = await ask(model);
      expect(text).toContain('two');
      expect(text).not.toContain('one');
      expect(text.split('"role":"assistant"')).toHaveLength(2);
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
      expect(ms).toBeLessThan(SLOW_MS);
      expect(await node.settledBalance(model)).toBe(before - USED);
      expect(await node.journalledFinal(rid)).toMatchObject({
        outcome: 'completed',
        attempts: [{ error: 'hedge_lost', cost: { output_tokens: 0 } }, { status: 200 }],
      });
      // The loser's connection is closed; it would stay open until its provider spoke.
      await until('every request of the loser is closed', () => unfinished.size === 0);
    },
  );

  test.each(['openai', 'anthropic'] as const)(
    'is answered so for a messages client too, by upstreams of protocol %s',
    async (protocol) => {
      const model = await knownModel(100, 1_000_000, undefined, protocol);
      const before = await node.settledBalance(model);
      manners.first = 'slow';
      const { text, ms } = await ask(model, { max_tokens: 50 }, '/v1/messages');
      expect(text).toContain('two');
      expect(text).not.toContain('one');
      expect(text.split('event: message_start')).toHaveLength(2);
      expect(text.split('event: message_stop')).toHaveLength(2);
      expect(ms).toBeLessThan(SLOW_MS);
      expect(await node.settledBalance(model)).toBe(before - USED);
    },
  );

  describe.each([
    ['/v1/chat/completions', 'openai'],
    ['/v1/messages', 'anthropic'],
  ] as const)('whose winner breaks off (%s)', (path, protocol) => {
    test('ends with an error, charged for what was delivered', async () => {
      const model = await knownModel(100, 1_000_000, undefined, protocol);
      manners.first = 'slow';
      manners.second = 'cut';
      const { text, rid } = await ask(model, { max_tokens: 50 }, path);
      expect(text).toContain('"two"');
      expect(text).not.toContain('"one"');
      expect(text).toContain('"error"');
      expect(text).not.toMatch(/\[DONE\]|"message_stop"/);
      expect(await node.journalledFinal(rid)).toMatchObject({
        outcome: 'upstream_interrupted',
        output_tokens: 1,
        attempts: [{ error: 'hedge_lost' }, { status: 200 }],
      });
    });

    test('is continued by the slower one where the model allows it', async () => {
      const model = await knownModel(100, 1_000_000, undefined, protocol, true);
      manners.first = 'slow';
      manners.second = 'cut';
      const { text, rid } = await ask(model, { max_tokens: 50 }, path);
      expect(text.indexOf('"two"')).toBeGreaterThan(0);
      expect(text.indexOf('"one"')).toBeGreaterThan(text.indexOf('"two"'));
      expect(text).not.toContain('"error"');
      const final = await node.journalledFinal(rid);
      expect(final).toMatchObject({
        outcome: 'completed',
        attempts: [{ error: 'hedge_lost' }, { error: 'cut' }, { status: 200 }],
      });
    });

    test('is continued by the second upstream when the first had won, and the receipt names the cut one', async () => {
      const model = await knownModel(100, 1_000_000, undefined, protocol, true);
      manners.first = 'slow and cut';
      manners.second = 'mute';
      const asked = second.requests.length;
      const asking = ask(model, { max_tokens: 50 }, path);
      await until('the second upstream is asked', () => second.requests.length > asked);
      manners.second = 'quick';
      const { text, rid } = await asking;
      expect(text.indexOf('"two"')).toBeGreaterThan(text.indexOf('"one"'));
      expect(await node.journalledFinal(rid)).toMatchObject({
        outcome: 'completed',
        attempts: [{ error: 'cut' }, { error: 'hedge_lost' }, { status: 200 }],
      });
    });
  });

  test('stays with the first when that one speaks first after all', async () => {
    const model = await knownModel();
    manners.first = 'slow';
    manners.second = 'mute';
    const { text, rid } = await ask(model);
    expect(text).toContain('one');
    expect(await node.journalledFinal(rid)).toMatchObject({
      attempts: [{ status: 200 }, { error: 'hedge_lost' }],
    });
  });

  test('loses neither to a second upstream that fails, nor to one that ends without content', async () => {
    const model = await knownModel();
    manners.first = 'slow';
    for (const manner of ['broken', 'empty'] as const) {
      manners.second = manner;
      expect((await ask(model)).text).toContain('one');
    }
  });

  test('is answered by the second when the first ends without content', async () => {
    const model = await knownModel();
    manners.first = 'empty';
    expect((await ask(model)).text).toContain('two');
  });

  test('fails when both do, free of charge', async () => {
    const model = await knownModel();
    const before = await node.settledBalance(model);
    manners.first = 'empty';
    manners.second = 'broken';
    expect((await ask(model)).status).toBe(502);
    expect(await node.settledBalance(model)).toBe(before);
  });

  test('is waited for beyond the share, or the tokens, that hedges may take', async () => {
    for (const model of [await knownModel(1), await knownModel(100, 1)]) {
      manners.first = 'slow';
      const asked = second.requests.length;
      expect((await ask(model)).text).toContain('one');
      expect(second.requests).toHaveLength(asked);
      manners.first = 'quick';
    }
  });

  test('counts the whole output of the slower one, unless its provider stops billing on close', async () => {
    const prompts = 2_000;
    for (const [stops, answer] of [
      [false, 'one'],
      [true, 'two'],
    ] as const) {
      const model = await knownModel(100, prompts, stops);
      manners.first = 'slow';
      expect((await ask(model)).text).toContain(answer);
      manners.first = 'quick';
    }
  });

  test('counts the output of each choice', async () => {
    const model = await knownModel(100, 2_000, false);
    manners.first = 'slow';
    expect((await ask(model, { max_tokens: 900, n: 3 })).text).toContain('one');
    expect((await ask(model, { max_tokens: 900 })).text).toContain('two');
  });

  test('is closed at both upstreams when the client leaves before either spoke', async () => {
    const model = await knownModel();
    manners.first = 'mute';
    manners.second = 'mute';
    const leaving = new AbortController();
    const asked = second.requests.length;
    const left = fetch(`${node.url}/v1/chat/completions`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { authorization: `Bearer ${node.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: model.name,
        stream: true,
        messages: [{ role: 'user', content: 'hi' }],
      }),
    }).catch(() => undefined);
    await until('the second upstream is asked', () => second.requests.length > asked);
    leaving.abort();
    await left;
    // Nothing is held once both are closed.
    expect(await node.settledBalance(model)).toBeGreaterThan(0);
  });
});
