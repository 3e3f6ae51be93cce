import { expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { isConnectionFailure } from './database-errors.ts';

test('a Redis that does not answer is an outage, not a bug', async () => {
  // No server listens on port 1.
  const redis = new Redis({
    port: 1,
    host: '127.0.0.1',
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: 500,
    disconnectTimeout: 200,
  });
  redis.on('error', () => {});
  const connecting: unknown = await redis.connect().catch((error: unknown) => error);
  const asking: unknown = await redis.ping().catch((error: unknown) => error);
  expect([connecting, asking].map(isConnectionFailure)).toEqual([true, true]);
  redis.disconnect();
  expect(isConnectionFailure(new Error('undefined is not a function'))).toBe(false);
});
