import { describe, expect, test } from '@jest/globals';
import { exchangeOf, type Loose } from '../../test/drive.ts';

const PROFILE = 'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc';
const NOVA = 'us.amazon.nova-2-lite-v1:0';
const HI = { role: 'user', content: 'hi' };
const ASKS = {
  chat: { model: 'alias', messages: [HI] },
  messages: { model: 'alias', max_tokens: 50, messages: [HI] },
  responses: { model: 'alias', input: 'hi' },
};
type Client = keyof typeof ASKS;
const ask = (client: Client, upstreamModel: string, body: object = {}) =>
  exchangeOf(client, 'bedrock', { ...ASKS[client], ...body }, { upstreamModel });
const bodyOf = (...asked: Parameters<typeof ask>): Loose =>
  JSON.parse(Buffer.from(ask(...asked).requestBody).toString());

describe('a request by Converse says what its client says', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };

  test('system, cache points, tools and their results, images, a schema, thinking and limits', () => {
    const cached = { cache_control: { type: 'ephemeral' } };
    const image = { type: 'base64', media_type: 'image/jpeg', data: 'aGk=' };
    const body = bodyOf('messages', NOVA, {
      system: [{ type: 'text', text: 's', ...cached }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image', source: image },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: { x: 1 } }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'c', content: 'no', is_error: true }],
        },
      ],
      tools: [{ name: 'f', description: 'd', input_schema: schema, ...cached }],
      tool_choice: { type: 'any' },
      stop_sequences: ['x'],
      temperature: 0.5,
      top_k: 7,
      thinking: { type: 'enabled', budget_tokens: 1_024 },
      output_config: { format: { type: 'json_schema', schema } },
    });
    const cachePoint = { cachePoint: { type: 'default' } };
    expect(body).toEqual({
      system: [{ text: 's' }, cachePoint],
      messages: [
        {
          role: 'user',
          content: [{ text: 'a' }, { image: { format: 'jpeg', source: { bytes: 'aGk=' } } }],
        },
        {
          role: 'assistant',
          content: [{ toolUse: { toolUseId: 'c', name: 'f', input: { x: 1 } } }],
        },
        {
          role: 'user',
          content: [{ toolResult: { toolUseId: 'c', content: [{ text: 'no' }], status: 'error' } }],
        },
      ],
      inferenceConfig: { maxTokens: 50, temperature: 0.5, stopSequences: ['x'] },
      toolConfig: {
        tools: [
          { toolSpec: { name: 'f', description: 'd', inputSchema: { json: schema } } },
          cachePoint,
        ],
        toolChoice: { any: {} },
      },
      outputConfig: {
        textFormat: {
          type: 'json_schema',
          structure: { jsonSchema: { schema: JSON.stringify(schema), name: 'response' } },
        },
      },
      additionalModelRequestFields: {
        inferenceConfig: { topK: 7 },
        reasoningConfig: { type: 'enabled', maxReasoningEffort: 'low' },
      },
    });
  });

  test('thoughts go back to a model whose name does not say that it is another one', () => {
    const thought = { type: 'thinking', thinking: 't', signature: 's' };
    const turn = (model: string) =>
      bodyOf('messages', model, {
        messages: [HI, { role: 'assistant', content: [thought, { type: 'text', text: 'a' }] }, HI],
      }).messages[1].content;
    const reasoningContent = { reasoningText: { text: 't', signature: 's' } };
    expect(turn(PROFILE)).toEqual([{ reasoningContent }, { text: 'a' }]);
    expect(turn(NOVA)).toEqual([{ text: 'a' }]);
  });

  test.each<[Client, object, string]>([
    ['chat', { n: 2 }, 'n'],
    ['messages', { mcp_servers: [{ type: 'url', url: 'https://a', name: 'a' }] }, 'mcp_servers'],
    ['messages', { tools: [{ type: 'web_fetch_20250910', name: 'w' }] }, 'tools[0].type'],
    [
      'messages',
      {
        messages: [
          { role: 'user', content: [{ type: 'image', source: { type: 'url', url: 'https://a' } }] },
        ],
      },
      'messages[0].content[0].source.type',
    ],
    [
      'messages',
      {
        messages: [
          HI,
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'x' }] },
        ],
        tools: [{ name: 'f', input_schema: schema }],
        tool_choice: { type: 'none' },
      },
      'tool_choice.type',
    ],
  ])('%s: what it has no words for is refused by name: %j', (client, body, param) => {
    expect(() => ask(client, NOVA, body)).toThrow(
      expect.objectContaining({ param, code: 'unsupported_parameter' }),
    );
  });
});
