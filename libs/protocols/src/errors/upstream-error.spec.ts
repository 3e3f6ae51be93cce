import { describe, expect, test } from '@jest/globals';
import { describeRecorded, readFixture, recordings } from '../../test/fixtures.ts';
import type { UpstreamError } from '../exchange.ts';
import { clientError, upstreamClientError } from './client-error.ts';
import { readInBandError, readUpstreamError } from './upstream-error.ts';

function read(status: number, body: unknown, headers: Record<string, string> = {}): UpstreamError {
  return readUpstreamError({
    status,
    headers,
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  });
}

function shown(
  protocol: 'chat' | 'messages',
  error: UpstreamError,
): { status: number; body: unknown; text: string } {
  const { status, body } = clientError(protocol, upstreamClientError(error, 'rid'));
  const text = Buffer.from(body).toString('utf8');
  return { status, body: JSON.parse(text), text };
}

describe('refusals of message threads', () => {
  const refusal = (details: object) => ({
    type: 'error',
    error: { type: 'not_found_error', message: 'no', details },
  });

  test.each<[number, object, UpstreamError['kind'], number]>([
    [404, { error_code: 'thread_not_found' }, 'gone', 404],
    [400, { error_code: 'thread_not_found' }, 'gone', 404],
    [409, { error_code: 'thread_continue_in_flight' }, 'invalid_request', 400],
    [400, { error_code: 'thread_unsupported_request', unsupported: ['x'] }, 'invalid_request', 400],
  ])('%i %j reaches the client, and is no fault of its route', (status, details, kind, shownAs) => {
    const error = read(status, refusal(details));
    expect(error.kind).toBe(kind);
    expect(shown('messages', error)).toMatchObject({
      status: shownAs,
      body: { error: { details } },
    });
  });

  test('leave other details with the operator', () => {
    const details = { error_code: 'thread_x', unsupported: ['a b', 7, 'tools'], key: 'sk-1' };
    expect(shown('messages', read(400, refusal(details))).body).toMatchObject({
      error: { details: { error_code: 'thread_x', unsupported: ['tools'] } },
    });
    const { text } = shown('messages', read(400, refusal({ error_code: 'other', key: 'sk-1' })));
    expect(text).not.toMatch(/details|sk-1/);
  });
});

describe('upstream errors', () => {
  test.each<[string, number, unknown, UpstreamError['kind']]>([
    [
      'OpenAI',
      400,
      {
        error: {
          message: 'bad',
          type: 'invalid_request_error',
          param: 'messages',
          code: 'invalid_value',
        },
      },
      'invalid_request',
    ],
    [
      'Azure, string code without type',
      401,
      { error: { code: '401', message: 'Access denied' } },
      'auth',
    ],
    ['Mistral detail', 401, { detail: 'Invalid API Key' }, 'auth'],
    [
      'FastAPI list',
      422,
      { detail: [{ loc: ['body'], msg: 'field required' }] },
      'invalid_request',
    ],
    ['OpenRouter numeric code', 402, { error: { code: 402, message: 'no credits' } }, 'auth'],
    [
      'Anthropic',
      529,
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      'overloaded',
    ],
    [
      'our own account at the vendor is empty',
      429,
      { error: { type: 'insufficient_quota', code: 'insufficient_quota', message: 'quota' } },
      'auth',
    ],
    ['rate limit', 429, { error: { code: 'RateLimitReached', message: 'slow' } }, 'rate_limited'],
    ['HTML', 502, '<html><body>Bad gateway</body></html>', 'server'],
    ['empty', 503, '', 'overloaded'],
    ['too large', 413, { error: { message: 'Request exceeds 32 MB' } }, 'too_large'],
    ['unknown path or model', 404, { error: { message: 'model: x' } }, 'not_found'],
  ])('behaviour 25: %s', (_, status, body, kind) => {
    const error = read(status, body);
    expect(error).toMatchObject({ kind, upstreamStatus: status });
    for (const protocol of ['chat', 'messages'] as const) {
      const { status: answered, body: given } = shown(protocol, error);
      expect(answered).toBeGreaterThanOrEqual(400);
      expect(given).toHaveProperty('error.message', expect.stringMatching(/./));
      expect(given).toHaveProperty('error.type', expect.stringMatching(/./));
    }
  });

  test("behaviour 26: an upstream 401, 403 or 402 never becomes the caller's, and its words stay with the operator", () => {
    for (const status of [401, 402, 403]) {
      const error = read(status, {
        error: { message: 'Incorrect API key provided: sk-live-abcdefghijkl. Org org-12345678' },
      });
      expect(shown('chat', error).status).toBe(502);
      expect(shown('messages', error).status).toBe(500);
      expect(shown('chat', error).text + shown('messages', error).text).not.toMatch(
        /key|sk-|org-/i,
      );
    }
  });

  test('behaviour 26: messages of 400 and 413 are kept, word for word where clients act on them', () => {
    const message = "messages.1.role: Input should be 'user' or 'assistant'";
    expect(
      shown(
        'messages',
        read(400, { type: 'error', error: { type: 'invalid_request_error', message } }),
      ).body,
    ).toHaveProperty('error.message', message);
    expect(
      shown(
        'chat',
        read(400, {
          error: {
            message: 'Unsupported parameter',
            param: 'max_tokens',
            code: 'unsupported_parameter',
          },
        }),
      ).body,
    ).toEqual({
      error: {
        message: 'Unsupported parameter',
        type: 'invalid_request_error',
        param: 'max_tokens',
        code: 'unsupported_parameter',
      },
      request_id: 'rid',
    });
    expect(shown('chat', read(413, { error: { message: 'Too many megabytes' } }))).toMatchObject({
      status: 413,
      body: { error: { message: 'Too many megabytes' } },
    });
    expect(
      shown('chat', read(500, { error: { message: 'stack trace at db.internal' } })).text,
    ).not.toContain('db.internal');
  });

  test.each([
    {
      said: 'prompt is too long: 3333404 tokens > 200000 maximum',
      messages: 'prompt is too long: 3333404 tokens > 200000 maximum',
      chat: "This model's maximum context length is 200000 tokens. However, your messages resulted in 3333404 tokens. Please reduce the length of the messages.",
    },
    {
      said: "This model's maximum context length is 1048565 tokens. However, you requested 1250025 tokens (1250025 in the messages, 0 in the completion).",
      messages: 'prompt is too long: 1250025 tokens > 1048565 maximum',
      chat: "This model's maximum context length is 1048565 tokens. However, you requested 1250025 tokens (1250025 in the messages, 0 in the completion).",
    },
    {
      said: "This endpoint's maximum context length is 200000 tokens. However, you requested about 2500021 tokens (2500021 of text input).",
      messages: 'prompt is too long: 2500021 tokens > 200000 maximum',
      chat: "This model's maximum context length is 200000 tokens. However, your messages resulted in 2500021 tokens. Please reduce the length of the messages.",
    },
    {
      said: 'Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      messages: 'prompt is too long: 40960 tokens > 32768 maximum',
      chat: "This model's maximum context length is 32768 tokens. However, your messages resulted in 40960 tokens. Please reduce the length of the messages.",
    },
    {
      said: 'prompt too long; exceeded max context length by 1119046 tokens',
      messages:
        'prompt is too long: prompt too long; exceeded max context length by 1119046 tokens',
      chat: "This model's maximum context length is exceeded: prompt too long; exceeded max context length by 1119046 tokens",
    },
  ])(
    'behaviour 26: context overflow "$said" is worded for each protocol\'s clients',
    ({ said, messages, chat }) => {
      const error = read(400, { error: { message: said } });
      expect(error.kind).toBe('context_overflow');
      expect(shown('messages', error)).toMatchObject({
        status: 400,
        body: { error: { type: 'invalid_request_error', message: messages } },
      });
      expect(shown('chat', error)).toMatchObject({
        status: 400,
        body: { error: { code: 'context_length_exceeded', message: chat } },
      });
    },
  );

  test('an error inside a 200 is distinguished from an answer', () => {
    expect(readInBandError({ choices: [], usage: null })).toBeNull();
    expect(readInBandError({ error: null, choices: [] })).toBeNull();
    expect(readInBandError({ error: { code: 429, message: 'slow down' } })?.kind).toBe(
      'rate_limited',
    );
    expect(
      readInBandError({ error: { code: 'content_filter', message: 'filtered' } }),
    ).toMatchObject({ kind: 'invalid_request', message: 'filtered' });
    expect(readInBandError({ detail: 'Invalid API Key' })?.kind).toBe('auth');
    expect(readInBandError({ error: 'model crashed' })?.kind).toBe('server');
    expect(
      readInBandError({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })
        ?.kind,
    ).toBe('overloaded');
    expect(
      readInBandError({ error: { code: '__proto__', type: 'constructor', message: '' } })?.kind,
    ).toBe('server');
  });

  test('waiting times come from milliseconds, seconds or a date', () => {
    expect(read(429, '', { 'retry-after': '1.5' }).retryAfterMs).toBe(1_500);
    expect(read(429, '', { 'retry-after-ms': '20', 'retry-after': '1' }).retryAfterMs).toBe(20);
    expect(
      read(429, '', {
        date: 'Sat, 21 Nov 2026 04:00:00 GMT',
        'retry-after': 'Sat, 21 Nov 2026 04:00:30 GMT',
      }).retryAfterMs,
    ).toBe(30_000);
    for (const nonsense of ['soon', '-5', '1e99', '', '0x10'])
      expect(read(429, '', { 'retry-after': nonsense }).retryAfterMs).toBeNull();
    const info = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' };
    const googles = JSON.stringify({ error: { code: 429, message: 'm', details: [{}, info] } });
    expect(read(429, googles).retryAfterMs).toBe(34_500);
    expect(read(429, googles, { 'retry-after': '2' }).retryAfterMs).toBe(2_000);
    const inTen = new Date(Date.now() + 10_000).toUTCString();
    const { retryAfterMs } = read(429, '', { 'retry-after': inTen });
    expect(retryAfterMs).toBeGreaterThan(5_000);
    expect(retryAfterMs).toBeLessThanOrEqual(10_000);
  });
});

describeRecorded('recorded errors', () => {
  test.each(
    recordings(({ hasError }) => hasError).map(({ file, status }): [string, number] => [
      file,
      status,
    ]),
  )('%s becomes a well-formed error of both protocols', (file, status) => {
    const error = readUpstreamError({
      status: status === 200 ? 400 : status,
      headers: {},
      body: readFixture(file),
    });
    if (file.includes('context_length_exceeded') && status === 400)
      expect(error.kind).toBe('context_overflow');
    if (status === 401) expect(error.kind).toBe('auth');
    expect(shown('chat', error).body).toHaveProperty('error.message');
    expect(shown('messages', error).body).toHaveProperty('error.type');
  });
});
