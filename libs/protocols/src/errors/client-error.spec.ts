import { describe, expect, test } from '@jest/globals';
import { clientError } from './client-error.ts';
import type { ClientErrorCode } from './client-error.ts';

describe('client errors', () => {
  test('behaviour 2: each protocol gets its own shape', () => {
    const error = {
      code: 'model_not_found',
      message: 'No model x.',
      param: 'model',
      requestId: 'rid',
    } as const;
    expect(JSON.parse(Buffer.from(clientError('chat', error).body).toString())).toEqual({
      error: {
        message: 'No model x.',
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_found',
      },
      request_id: 'rid',
    });
    expect(JSON.parse(Buffer.from(clientError('responses', error).body).toString())).toHaveProperty(
      'error.code',
      'model_not_found',
    );
    expect(JSON.parse(Buffer.from(clientError('messages', error).body).toString())).toEqual({
      type: 'error',
      error: { type: 'not_found_error', message: 'No model x.' },
      request_id: 'rid',
    });
  });

  test('details that a program acts on stand in the messages shape alone', () => {
    const details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] };
    const error = { code: 'unsupported', message: 'x', details, requestId: 'rid' } as const;
    const messages: unknown = JSON.parse(
      Buffer.from(clientError('messages', error).body).toString(),
    );
    expect(messages).toHaveProperty('error.details', details);
    const chat: unknown = JSON.parse(Buffer.from(clientError('chat', error).body).toString());
    expect(chat).not.toHaveProperty('error.details');
  });

  test.each<[ClientErrorCode, number, string, number, string, string | undefined]>([
    ['invalid_api_key', 401, 'invalid_request_error', 401, 'authentication_error', 'false'],
    ['insufficient_quota', 429, 'insufficient_quota', 402, 'billing_error', 'false'],
    ['tokens_held', 429, 'rate_limit_error', 429, 'rate_limit_error', 'true'],
    ['rate_limit_exceeded', 429, 'rate_limit_error', 429, 'rate_limit_error', undefined],
    ['request_too_large', 413, 'invalid_request_error', 413, 'request_too_large', undefined],
    ['overloaded', 503, 'server_error', 529, 'overloaded_error', undefined],
    ['timeout', 504, 'server_error', 504, 'timeout_error', undefined],
  ])(
    "behaviour 27: %s has the status and words that each protocol's clients act on",
    (code, chatStatus, chatType, messagesStatus, messagesType, retry) => {
      const chat = clientError('chat', { code, message: 'x', requestId: 'rid' });
      const messages = clientError('messages', { code, message: 'x', requestId: 'rid' });
      expect([chat.status, messages.status]).toEqual([chatStatus, messagesStatus]);
      expect(JSON.parse(Buffer.from(chat.body).toString())).toHaveProperty('error.type', chatType);
      expect(JSON.parse(Buffer.from(messages.body).toString())).toHaveProperty(
        'error.type',
        messagesType,
      );
      expect(chat.headers['x-should-retry']).toBe(retry);
    },
  );
});
