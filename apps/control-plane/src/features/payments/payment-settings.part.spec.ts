import { expect, test } from '@jest/globals';
import { loadConfig } from '../../config.ts';
import { send, startControlPlane } from '../../testing/control-plane-under-test.ts';
import { plane } from './payments-under-test.ts';

test.each(['STRIPE_WEBHOOK_SECRET', 'STRIPE_SECRET_KEY'])(
  'an empty %s refuses to start (S29)',
  (name) => {
    expect(() => loadConfig({ ...plane.environment, [name]: '' })).toThrow(new RegExp(name));
  },
);

test('without a provider a recharge is 409 and the webhook is unknown', async () => {
  const bare = await startControlPlane({ PAYMENTS: 'none' });
  try {
    expect(
      await bare.call('POST', '/wallet/recharge', { token: bare.adminToken, body: { amount: 1 } }),
    ).toMatchObject({ status: 409, body: { code: 'payments_not_configured' } });
    expect(
      await bare.call('POST', '/wallet/withdraw', {
        token: bare.adminToken,
        body: { user_id: 1, amount: 1, note: 'n', to: 'provider' },
      }),
    ).toMatchObject({ status: 409, body: { code: 'payments_not_configured' } });
    expect((await send(`${bare.url}/webhooks/stripe`, 'POST', { rawBody: '{}' })).status).toBe(404);
  } finally {
    await bare.stop();
  }
}, 60_000);
