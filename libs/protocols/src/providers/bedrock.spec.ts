import { describe, expect, test } from '@jest/globals';
import { awsEvent } from '../../test/aws-event.ts';
import { drive, exchangeOf, jsonEvents, type Loose } from '../../test/drive.ts';
import { bedrock } from './bedrock.ts';

const PROFILE = 'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc';
const CLAUDE = 'us.anthropic.claude-haiku-4-5-20251001-v1:0';
const NOVA = 'us.amazon.nova-2-lite-v1:0';
const HI = { role: 'user', content: 'hi' };
const ASKS = {
  chat: { model: 'alias', messages: [HI] },
  messages: { model: 'alias', max_tokens: 50, messages: [HI] },
  responses: { model: 'alias', input: 'hi' },
};
type Client = keyof typeof ASKS;
const ask = (
  client: Client,
  upstreamModel: string,
  body: object = {},
  clientHeaders: Record<string, string> = {},
) => exchangeOf(client, 'bedrock', { ...ASKS[client], ...body }, { upstreamModel, clientHeaders });
const bodyOf = (...asked: Parameters<typeof ask>): Loose =>
  JSON.parse(Buffer.from(ask(...asked).requestBody).toString());

describe('signatures', () => {
  const request = {
    method: 'POST',
    origin: 'https://bedrock-runtime.eu-central-1.amazonaws.com',
    path: ask('chat', PROFILE, { stream: true }).path,
    headers: { 'content-type': 'application/json', 'x-request-id': 'not signed' },
    body: Buffer.from('{"a":"é"}'),
  } as const;
  const auth = {
    type: 'aws',
    region: 'eu-central-1',
    access_key_id: 'AKIDEXAMPLE',
    secret_access_key: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  } as const;
  const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);

  // Botocore 1.44.5 made these for the same request.
  test.each([
    [
      'of an access key',
      {},
      '',
      '6102fd40d726e09ad937258d2126c8689be2ea574260886d77908f12eb02cbd4',
    ],
    [
      'of a session',
      { session_token: 'session/token==' },
      ';x-amz-security-token',
      'd0dae1580ebe5b7f36f1c60e04199e5b490a44206feeb254b85c1c2619626ed9',
    ],
  ])('that %s is the one that botocore makes', async (_, more, names, signature) => {
    const signed = await bedrock.sign(request, {
      auth: { ...auth, ...more },
      token: null,
      nowMs,
    });
    expect(signed['authorization']).toBe(
      `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/eu-central-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date${names}, Signature=${signature}`,
    );
    expect(signed['x-amz-date']).toBe('20260102T030405Z');
  });

  test('a key of Bedrock is a bearer token', () => {
    const key = { type: 'api_key', api_key: 'k' } as const;
    expect(bedrock.sign(request, { auth: key, token: null, nowMs })).toEqual({
      authorization: 'Bearer k',
    });
  });
});

test.each<[Client, string, boolean, string]>([
  ['chat', NOVA, false, '/model/us.amazon.nova-2-lite-v1%3A0/converse'],
  ['messages', NOVA, true, '/model/us.amazon.nova-2-lite-v1%3A0/converse-stream'],
  [
    'responses',
    PROFILE,
    false,
    '/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A123456789012%3Aapplication-inference-profile%2Fabc/converse',
  ],
  ['chat', CLAUDE, false, '/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke'],
  [
    'messages',
    CLAUDE,
    true,
    '/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke-with-response-stream',
  ],
])('a request of %s for %s (stream: %s) asks the path %s', (client, model, stream, path) => {
  expect(ask(client, model, { stream }).path).toBe(path);
});

test('Claude gets the body of its client but for the model, with version and betas inside', () => {
  const asked = { stream: true, top_k: 3, metadata: { user_id: 'u' } };
  expect(bodyOf('messages', CLAUDE, asked, { 'anthropic-beta': 'a, b' })).toEqual({
    max_tokens: 50,
    messages: [HI],
    top_k: 3,
    metadata: { user_id: 'u' },
    anthropic_version: 'bedrock-2023-05-31',
    anthropic_beta: ['a', 'b'],
  });
  const { requestHeaders } = ask('messages', CLAUDE, asked, { 'anthropic-beta': 'a' });
  expect(requestHeaders).toEqual({ accept: 'application/vnd.amazon.eventstream' });
});

test.each([
  [
    { inputTokens: 5, outputTokens: 2 },
    { input: 5, output: 2 },
  ],
  [
    {
      inputTokens: 5,
      outputTokens: 2,
      totalTokens: 20,
      cacheReadInputTokens: 3,
      cacheWriteInputTokens: 10,
      cacheDetails: [
        { ttl: '5m', inputTokens: 6 },
        { ttl: '1h', inputTokens: 4 },
      ],
    },
    { input: 5, cacheRead: 3, cacheWrite: 6, cacheWrite1h: 4, output: 2 },
  ],
  [{ inputTokens: 5 }, { input: 5, unreported: 'output' }],
])('the report %j is charged as %j', (usage, charged) => {
  expect(bedrock.readUsage({ usage })).toMatchObject(charged);
});

test.each([[{}], [{ usage: { inputTokens: -1, outputTokens: 'x' } }]])(
  'the answer %j reports no usage',
  (answer) => {
    expect(bedrock.readUsage(answer)).toBeNull();
  },
);

test.each([
  ['end_turn', 'stop', 'end_turn'],
  ['tool_use', 'tool_calls', 'tool_use'],
  ['max_tokens', 'length', 'max_tokens'],
  ['stop_sequence', 'stop', 'stop_sequence'],
  ['guardrail_intervened', 'content_filter', 'refusal'],
  ['content_filtered', 'content_filter', 'refusal'],
])(
  'the end %s is %s to a client of chat and %s to one of messages',
  (stopReason, finish, reason) => {
    const content = [
      { text: 'a' },
      ...(stopReason === 'tool_use' ? [{ toolUse: { toolUseId: 'c', name: 'f', input: {} } }] : []),
    ];
    const answer = {
      output: { message: { role: 'assistant', content } },
      stopReason,
      usage: { inputTokens: 1, outputTokens: 1 },
    };
    const read = (client: Client): Loose => {
      const reading = ask(client, NOVA).readJson(Buffer.from(JSON.stringify(answer)));
      if (reading.kind === 'error') throw new Error(reading.error.message);
      return JSON.parse(Buffer.from(reading.body).toString());
    };
    expect(read('chat').choices[0].finish_reason).toBe(finish);
    expect(read('messages').stop_reason).toBe(reason);
  },
);

test('a thought leaves with its signature, in a stream and whole', () => {
  const reasoningContent = { reasoningText: { text: 't', signature: 's' } };
  const usage = { inputTokens: 1, outputTokens: 2 };
  const whole = ask('messages', PROFILE).readJson(
    Buffer.from(
      JSON.stringify({
        output: { message: { role: 'assistant', content: [{ reasoningContent }, { text: 'a' }] } },
        stopReason: 'end_turn',
        usage,
      }),
    ),
  );
  if (whole.kind === 'error') throw new Error(whole.error.message);
  const thought = { type: 'thinking', thinking: 't', signature: 's' };
  expect(JSON.parse(Buffer.from(whole.body).toString()).content).toEqual([
    thought,
    { type: 'text', text: 'a' },
  ]);
  const delta = (contentBlockIndex: number, value: object) => ({
    contentBlockDelta: { contentBlockIndex, delta: value },
  });
  const { text, reader } = drive(
    ask('messages', PROFILE, { stream: true }),
    Buffer.concat(
      [
        { messageStart: { role: 'assistant' } },
        delta(0, { reasoningContent: { text: 't' } }),
        delta(0, { reasoningContent: { signature: 's' } }),
        { contentBlockStop: { contentBlockIndex: 0 } },
        delta(1, { text: 'a' }),
        { contentBlockStop: { contentBlockIndex: 1 } },
        { messageStop: { stopReason: 'end_turn' } },
        { metadata: { usage } },
      ].map(awsEvent),
    ),
    [7],
  );
  expect(reader.state).toBe('finished');
  expect(jsonEvents(text).map(({ delta: each }) => each?.type ?? each?.stop_reason)).toEqual(
    expect.arrayContaining(['thinking_delta', 'signature_delta', 'text_delta', 'end_turn']),
  );
  expect(reader.usage).toMatchObject({ input: 1, output: 2 });
});

test("events of Claude leave with Amazon's own bytes, but for the model's name", () => {
  const data = [
    '{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"alias","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"h\\u00e9 \\/ "}}',
    '{"type":"content_block_stop","index":0}',
    '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":4}}',
    '{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":3}}',
  ];
  const frames = data.map((each) =>
    awsEvent({ chunk: { bytes: Buffer.from(each).toString('base64'), p: 'abc' } }),
  );
  const { text, reader } = drive(
    ask('messages', CLAUDE, { stream: true }),
    Buffer.concat(frames),
    [11],
  );
  expect(text).toBe(
    data.map((each) => `event: ${JSON.parse(each).type}\ndata: ${each}\n\n`).join(''),
  );
  expect(reader.usage).toMatchObject({ input: 3, output: 4 });
});
