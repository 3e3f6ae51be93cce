import { afterAll, beforeAll } from '@jest/globals';
import { Stripe } from 'stripe';
import {
  send,
  startControlPlane,
  type ControlPlane,
} from '../../testing/control-plane-under-test.ts';
import { StripeServer } from './stripe-under-test.ts';

export const SECRET_KEY = 'sk_test_canary';
export const WEBHOOK_SECRET = 'whsec_0123456789abcdef0123';

export const stripeServer = new StripeServer();
export const signer = new Stripe(SECRET_KEY).webhooks;
export let plane: ControlPlane;
export let user: { id: number; token: string };

export const recharge = (amount: string, headers: Record<string, string> = {}) =>
  plane.call('POST', '/wallet/recharge', { token: user.token, body: { amount }, headers });
export const balance = async () =>
  (await plane.call('GET', '/wallet', { token: user.token })).body.balance;
export const eventOf = (
  id: string,
  amountTotal: number,
  { type = 'checkout.session.completed', status = 'paid', currency = 'usd' } = {},
) =>
  JSON.stringify({
    id: 'evt_1',
    object: 'event',
    type,
    data: {
      object: {
        id,
        object: 'checkout.session',
        payment_status: status,
        amount_total: amountTotal,
        currency,
      },
    },
  });
export const notify = (
  payload: string,
  signature = signer.generateTestHeaderString({ payload, secret: WEBHOOK_SECRET }),
) =>
  send(`${plane.url}/webhooks/stripe`, 'POST', {
    rawBody: payload,
    headers: { 'stripe-signature': signature },
  });

/** The spec that imports the parts calls this: one control plane and one Stripe double serve them all. */
export function shareStripe(): void {
  beforeAll(async () => {
    plane = await startControlPlane({
      PAYMENTS: 'stripe',
      STRIPE_SECRET_KEY: SECRET_KEY,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      PAYMENT_RETURN_URL: 'https://console.example/wallet',
      STRIPE_API_URL: await stripeServer.start(),
    });
    user = await plane.createUser('payer');
  }, 60_000);
  afterAll(async () => {
    stripeServer.stop();
    await plane?.stop();
  });
}
