import type { ClientProtocol } from '../src/exchange.ts';

const IMAGE = {
  type: 'image_url',
  image_url: { url: 'data:image/png;base64,QUI=', detail: 'low' },
};

/** Has a rich request of each protocol. */
export const CLIENT_REQUESTS: Readonly<Record<ClientProtocol, object>> = {
  chat: {
    model: 'm',
    messages: [
      { role: 'system', content: 'be brief' },
      { role: 'user', name: 'a', content: [{ type: 'text', text: 'hi' }, IMAGE] },
      {
        role: 'assistant',
        content: 'so',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: '1' },
    ],
    tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: {} } }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    response_format: { type: 'json_schema', json_schema: { name: 's', schema: {} } },
    max_tokens: 5,
    stop: ['x'],
    stream: true,
    stream_options: { include_usage: true },
    temperature: 1,
    top_logprobs: 0,
    n: 1,
    reasoning_effort: 'low',
    metadata: { user: 'u' },
  },
  messages: {
    model: 'm',
    max_tokens: 5_000,
    system: [{ type: 'text', text: 'be brief', cache_control: { type: 'ephemeral' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUI=' } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 't', signature: 's' },
          { type: 'tool_use', id: 'c', name: 'f', input: {} },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: '1' }] },
    ],
    tools: [{ name: 'f', description: 'd', input_schema: { type: 'object' } }],
    tool_choice: { type: 'tool', name: 'f' },
    thinking: { type: 'enabled', budget_tokens: 1_024 },
    stop_sequences: ['x'],
    context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    metadata: { user_id: 'u' },
  },
  responses: {
    model: 'm',
    instructions: 'be brief',
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 's' }] },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: '1' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'so' }] },
    ],
    tools: [{ type: 'function', name: 'f', parameters: {}, strict: true }],
    tool_choice: { type: 'function', name: 'f' },
    text: { format: { type: 'json_schema', name: 's', schema: {} }, verbosity: 'low' },
    reasoning: { effort: 'low', summary: 'auto' },
    max_output_tokens: 50,
    top_logprobs: 0,
    metadata: { user: 'u' },
  },
  embeddings: { model: 'm', input: ['a', 'b'], dimensions: 8, encoding_format: 'float' },
  completions: { model: 'm', prompt: ['a'], max_tokens: 5, logprobs: 0, stop: ['x'], n: 1 },
  generate: {
    systemInstruction: { parts: [{ text: 'be brief' }] },
    contents: [
      {
        role: 'user',
        parts: [{ text: 'hi' }, { inlineData: { mimeType: 'image/png', data: 'QUI=' } }],
      },
      { role: 'model', parts: [{ functionCall: { id: 'c', name: 'f', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: '1' } } }] },
    ],
    tools: [
      {
        functionDeclarations: [
          { name: 'f', parameters: { type: 'OBJECT', properties: {}, nullable: true } },
        ],
      },
    ],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
    generationConfig: {
      maxOutputTokens: 50,
      temperature: 1,
      stopSequences: ['x'],
      thinkingConfig: { thinkingBudget: 10 },
      responseMimeType: 'application/json',
      responseSchema: { type: 'OBJECT' },
    },
  },
  embed: {
    model: 'models/m',
    content: { role: 'user', parts: [{ text: 'hi' }] },
    taskType: 'RETRIEVAL_DOCUMENT',
    title: 't',
    outputDimensionality: 3,
  },
};
