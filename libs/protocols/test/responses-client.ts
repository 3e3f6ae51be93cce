import { exchangeOf, type Loose } from './drive.ts';
import type { Exchange } from '../src/exchange.ts';

/** These serve a client of /v1/responses with tools of each kind, and upstream streams of both protocols that call them. */
export const sent = (exchange: Exchange): Loose =>
  JSON.parse(Buffer.from(exchange.requestBody).toString());
export const toChat = (body: object, upstreamModel = 'gpt-5'): Loose =>
  sent(
    exchangeOf('responses', 'openai', { model: 'alias', input: 'hi', ...body }, { upstreamModel }),
  );
export const toMessages = (body: object, upstreamModel = 'claude-opus-4-6'): Loose =>
  sent(
    exchangeOf(
      'responses',
      'anthropic',
      { model: 'alias', input: 'hi', ...body },
      { upstreamModel },
    ),
  );

export const weather = {
  type: 'function',
  name: 'weather',
  description: 'd',
  parameters: { type: 'object' },
  strict: true,
};
const patch = {
  type: 'custom',
  name: 'apply_patch',
  description: 'free text',
  format: { type: 'grammar' },
};
const mcp = {
  type: 'namespace',
  name: 'mcp__files',
  description: 'x',
  tools: [{ type: 'function', name: 'read', parameters: { type: 'object' } }],
};
export const TOOLS = [weather, patch, mcp];

export const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const USAGE =
  'data: {"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":9,"total_tokens":17,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}}\n\n';
export const CHAT_STREAM =
  chunk({ role: 'assistant', reasoning_content: 'hm' }) +
  chunk({ content: 'hel' }) +
  chunk({ content: 'lo' }) +
  chunk({
    tool_calls: [
      {
        index: 0,
        id: 'call|1',
        type: 'function',
        function: { name: 'mcp__files__read', arguments: '{"p":' },
      },
    ],
  }) +
  chunk({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }) +
  chunk({
    tool_calls: [
      {
        index: 1,
        id: 'c2',
        type: 'function',
        function: { name: 'apply_patch', arguments: '{"input":"*** Begin"}' },
      },
    ],
  }) +
  chunk({}, 'tool_calls') +
  USAGE +
  'data: [DONE]\n\n';

export const event = (type: string, rest = ''): string =>
  `event: ${type}\ndata: {"type":"${type}"${rest}}\n\n`;
export const MESSAGES_STREAM =
  event(
    'message_start',
    ',"message":{"id":"m","content":[],"usage":{"input_tokens":5,"cache_read_input_tokens":3,"output_tokens":1}}',
  ) +
  event(
    'content_block_start',
    ',"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}',
  ) +
  event('content_block_delta', ',"index":0,"delta":{"type":"thinking_delta","thinking":"hm"}') +
  event(
    'content_block_delta',
    ',"index":0,"delta":{"type":"signature_delta","signature":"SIG=="}',
  ) +
  event('content_block_stop', ',"index":0') +
  event('content_block_start', ',"index":1,"content_block":{"type":"text","text":""}') +
  event('content_block_delta', ',"index":1,"delta":{"type":"text_delta","text":"hello"}') +
  event('content_block_stop', ',"index":1') +
  event(
    'content_block_start',
    ',"index":2,"content_block":{"type":"tool_use","id":"call|1","name":"mcp__files__read","input":{}}',
  ) +
  event(
    'content_block_delta',
    ',"index":2,"delta":{"type":"input_json_delta","partial_json":"{\\"p\\":1}"}',
  ) +
  event('content_block_stop', ',"index":2') +
  event(
    'content_block_start',
    ',"index":3,"content_block":{"type":"tool_use","id":"c2","name":"apply_patch","input":{}}',
  ) +
  event(
    'content_block_delta',
    ',"index":3,"delta":{"type":"input_json_delta","partial_json":"{\\"input\\":\\"*** Begin\\"}"}',
  ) +
  event('content_block_stop', ',"index":3') +
  event(
    'message_delta',
    ',"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9,"output_tokens_details":{"thinking_tokens":2}}',
  ) +
  event('message_stop');

export const open = (upstreamProtocol: 'openai' | 'anthropic'): Exchange =>
  exchangeOf('responses', upstreamProtocol, {
    model: 'alias',
    input: 'hi',
    stream: true,
    tools: TOOLS,
  });
