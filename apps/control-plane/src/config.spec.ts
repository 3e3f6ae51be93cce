import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { configSchema, InvalidConfig, loadConfig } from './config.ts';

const complete = {
  DATABASE_URL: 'postgres://localhost/tollgate',
  REDIS_URL: 'redis://localhost:6379',
  JWT_SECRET: randomBytes(32).toString('hex'),
  ENCRYPTION_KEY: randomBytes(32).toString('base64url'),
  FLEET_CREDENTIAL: randomBytes(32).toString('base64url'),
};

describe('the environment', () => {
  test('with only what is required gives safe defaults', () => {
    expect(loadConfig(complete)).toMatchObject({
      HOST: '127.0.0.1',
      SHARDS: 64,
      CURRENCY: 'USD',
      PAYMENTS: 'none',
      ADMIN_API_ACCESS: 'self-service',
      UPSTREAM_ALLOW_PRIVATE: [],
      TRUSTED_PROXIES: [],
    });
  });

  test.each([
    ['JWT_SECRET', 'FLEET_CREDENTIAL'],
    ['JWT_SECRET', 'ENCRYPTION_KEY'],
    ['ENCRYPTION_KEY', 'FLEET_CREDENTIAL'],
  ])('refuses %s equal to %s (S12)', (one, other) => {
    const shared = complete.ENCRYPTION_KEY;
    expect(() => loadConfig({ ...complete, [one]: shared, [other]: shared })).toThrow(
      /must differ/,
    );
  });

  test.each([
    ['JWT_SECRET', 'short'],
    ['JWT_SECRET', ''],
    ['JWT_SECRET', 'change-me-change-me-change-me-change-me-change-me'],
    ['FLEET_CREDENTIAL', 'f'.repeat(64)],
    ['ENCRYPTION_KEY', randomBytes(31).toString('base64url')],
    ['ENCRYPTION_KEY', randomBytes(32).toString('hex')],
    ['DATABASE_URL', 'mysql://localhost/x'],
    ['REDIS_URL', 'http://localhost'],
    ['PORT', '70000'],
    ['SHARDS', '0'],
    ['CURRENCY', 'dollars'],
    ['PAYMENTS', 'yes'],
    ['UPSTREAM_ALLOW_PRIVATE', '10.0.0.0/8, nonsense'],
    ['TRUSTED_PROXIES', 'everyone'],
    ['LOG_LEVEL', 'loud'],
  ])('refuses %s=%s, names it and never repeats a secret', (name, value) => {
    const attempt = () => loadConfig({ ...complete, [name]: value });
    expect(attempt).toThrow(InvalidConfig);
    expect(attempt).toThrow(new RegExp(`^${name}`));
    if (value !== '') expect(attempt).not.toThrow(new RegExp(`^.*: .*${value.slice(0, 5)}$`));
  });

  test('an administrator to create needs name and password', () => {
    expect(() => loadConfig({ ...complete, BOOTSTRAP_ADMIN_USERNAME: 'root' })).toThrow(
      /go together/,
    );
  });

  test('every variable is described', () => {
    expect(Object.entries(configSchema.shape).filter(([, schema]) => !schema.description)).toEqual(
      [],
    );
  });
});
