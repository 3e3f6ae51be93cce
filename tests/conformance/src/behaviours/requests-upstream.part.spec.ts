import { describe, expect, test } from '@jest/globals';
import { looseJson, type Loose } from '../event-text.ts';
import {
  anthropic,
  chat,
  chatModel,
  claude,
  completion,
  embedding,
  HI,
  message,
  messages,
  openai,
  post,
} from './client-behaviours-under-test.ts';

describe('what goes up', () => {
  test('behaviours 4, 5: a system message in the middle reaches a chat upstream, the billing header does not', async () => {
    chat.says(completion);
    const system: Loose = [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.329.abc;' },
      { type: 'text', text: 'Be brief.' },
    ];
    const turns: Loose = [
      { role: 'user', content: 'hi' },
      {
        role: 'system',
        content: [{ type: 'text', text: 'Speak French.', cache_control: { type: 'ephemeral' } }],
        output_config: { effort: 'low' },
      },
    ];
    await anthropic().messages.create({
      model: chatModel.name,
      max_tokens: 9,
      system,
      messages: turns,
    });
    expect(chat.last.body).toContain('Speak French.');
    expect(chat.last.body).toContain('Be brief.');
    expect(chat.last.body).not.toContain('billing-header');
  });

  test('behaviours 5, 6, 7, 29: a messages body reaches Anthropic byte for byte but the model value, unsigned thinking cut out', async () => {
    messages.says(message);
    const body = (model: string, unsigned: string): string =>
      `{"max_tokens":50, "big":9007199254740993,"model":"${model}","system":[{"type":"text","text":"x-anthropic-billing-header: cc=1;"}],"messages":[{"role":"user","content":"\\u00e4"},{"role":"assistant","content":[${unsigned}{"type":"thinking","thinking":"hm","signature":"EqQB+/=="},{"type":"tool_use","id":"toolu_1","name":"f","input":{"z":1.0,"a":2}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"},{"type":"future_block","x":1}]}],"future_field":{"y":null}}`;
    expect((await post('/v1/messages', body(claude.name, ''))).status).toBe(200);
    expect(messages.last.body).toBe(body('as-recorded', ''));
    await post(
      '/v1/messages',
      body(claude.name, '{"type":"thinking","thinking":"foreign","signature":""},'),
    );
    expect(messages.last.body).toBe(body('as-recorded', ''));
  });

  test("behaviour 28: a chat upstream's odd tool ids come back to it in the next turn, results merged in any order", async () => {
    const ids = ['call_AbC|weird:id.1', `x${'y'.repeat(80)}`];
    chat.says({
      ...completion,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: null,
            tool_calls: ids.map((id, at) => ({
              id,
              type: 'function',
              function: { name: `f${at}`, arguments: '{}' },
            })),
          },
          finish_reason: 'tool_calls',
        },
      ],
    });
    const tools: Loose = [0, 1].map((at) => ({
      name: `f${at}`,
      input_schema: { type: 'object', properties: {} },
    }));
    const first = await anthropic().messages.create({
      model: chatModel.name,
      max_tokens: 9,
      tools,
      messages: HI,
    });
    const uses = first.content.flatMap((item) => (item.type === 'tool_use' ? [item] : []));
    for (const { id } of uses) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    chat.says(completion);
    const results = uses.toReversed().map(({ id }): Loose => ({
      type: 'tool_result',
      tool_use_id: id,
      content: [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
      ],
    }));
    await anthropic().messages.create({
      model: chatModel.name,
      max_tokens: 9,
      tools,
      messages: [
        ...HI,
        { role: 'assistant', content: first.content },
        { role: 'user', content: results },
      ],
    });
    const sent: Loose[] = looseJson(chat.last.body).messages;
    expect(
      sent.find(({ role }) => role === 'assistant').tool_calls.map(({ id }: Loose) => id),
    ).toEqual(ids);
    expect(
      sent
        .filter(({ role }) => role === 'tool')
        .map(({ tool_call_id }) => tool_call_id)
        .toSorted(),
    ).toEqual(ids.toSorted());
    expect(JSON.stringify(sent.at(-1))).toContain('data:image/png;base64,aGk=');
  });

  test('behaviour 31: embeddings of token arrays, in base64 as the SDK asks and in floats as some reply', async () => {
    const floats = [0.5, -1.25];
    const base64 = Buffer.from(new Float32Array(floats).buffer).toString('base64');
    for (const reply of [base64, floats]) {
      chat.says({
        object: 'list',
        model: 'm',
        data: [{ object: 'embedding', index: 0, embedding: reply }],
        usage: { prompt_tokens: 3, total_tokens: 3 },
      });
      const { data: vectors } = await openai().embeddings.create({
        model: embedding.name,
        input: [1, 2, 3],
      });
      expect(vectors[0]?.embedding).toEqual(floats);
      expect(looseJson(chat.last.body)).toMatchObject({
        input: [1, 2, 3],
        encoding_format: 'base64',
      });
    }
  });
});
