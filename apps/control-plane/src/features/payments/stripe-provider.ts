import { lookupName } from '@tollgate/outbound';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Micros } from '@tollgate/money';
import { Stripe } from 'stripe';
import { z } from 'zod';
import { Refusal, invalidField } from '../../platform/http/refusal.ts';
import { fromMinorUnits, toMinorUnits } from './minor-units.ts';
import type {
  OpenedPayment,
  PaidBack,
  PayBackRequest,
  PaymentNotice,
  PaymentProvider,
  PaymentRequest,
} from './payment-provider.ts';

/** Is below the database's limit for an idle transaction, which waits for the call to Stripe. */
const TIMEOUT_MS = 10_000;
const RETRIES_MAX = 1;
/** An older notice is a replay: https://docs.stripe.com/webhooks#replay-attacks */
const SIGNATURE_AGE_MAX_S = 300;

export interface StripeSettings {
  secretKey: string;
  webhookSecret: string;
  /** Is the page to which the payer returns. */
  returnUrl: string;
  /** Is the address of another server with Stripe's API, for tests. */
  apiUrl: string;
}

const session = z.object({
  id: z.string(),
  payment_status: z.string().optional(),
  amount_total: z.number().int().nullish(),
  currency: z.string().nullish(),
});

/** Keys of metadata distinguish our refunds from those of other shops and of people in Stripe's dashboard. */
const PAYMENT_KEY = 'tollgate_payment';
const PAYOUT_KEY = 'tollgate_payout';
const REFUNDS_LISTED_MAX = 100;

const refund = z.object({
  id: z.string(),
  status: z.string().nullish(),
  failure_reason: z.string().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
});

/** Takes payments through Stripe Checkout: https://docs.stripe.com/payments/checkout/fulfillment */
export class StripeProvider implements PaymentProvider {
  readonly name = 'stripe';
  private readonly stripe: Stripe;

  constructor(private readonly settings: StripeSettings) {
    const { protocol, hostname, port } = new URL(settings.apiUrl);
    // The agent does not use the system's lookup: see NameLookup.
    const agent = { keepAlive: true, lookup: lookupName };
    this.stripe = new Stripe(settings.secretKey, {
      httpAgent: protocol === 'http:' ? new HttpAgent(agent) : new HttpsAgent(agent),
      host: hostname,
      protocol: protocol === 'http:' ? 'http' : 'https',
      port: port || (protocol === 'http:' ? '80' : '443'),
      timeout: TIMEOUT_MS,
      // The SDK repeats a POST under one idempotency key, so a repetition opens no second session.
      maxNetworkRetries: RETRIES_MAX,
      telemetry: false,
    });
  }

  async open({ paymentId, amount, currency }: PaymentRequest): Promise<OpenedPayment> {
    const unitAmount = minorUnits(amount, currency);
    const opened = await this.stripe.checkout.sessions
      .create({
        mode: 'payment',
        line_items: [
          {
            quantity: 1,
            price_data: {
              currency: currency.toLowerCase(),
              unit_amount: unitAmount,
              product_data: { name: 'Wallet recharge' },
            },
          },
        ],
        client_reference_id: String(paymentId),
        success_url: this.settings.returnUrl,
        cancel_url: this.settings.returnUrl,
      })
      .catch((error: unknown) => {
        // Stripe's errors about our key or account are not shown to the payer; an amount out of range is.
        if (
          error instanceof Stripe.errors.StripeInvalidRequestError &&
          error.code?.startsWith('amount_too_')
        )
          throw invalidField('amount', error.code);
        throw new Refusal('payment_provider_failed', { retryAfterSeconds: 5, cause: error });
      });
    return { reference: opened.id, checkoutUrl: opened.url, isPaid: false };
  }

  refuseFraction(amount: Micros, currency: string): void {
    minorUnits(amount, currency);
  }

  /** Pays back. It first searches the payment's refunds, because Stripe removes an idempotency key after a day: https://docs.stripe.com/api/refunds */
  async payBack(request: PayBackRequest): Promise<PaidBack> {
    try {
      return toPaidBack(refund.parse(await this.refunded(request)));
    } catch (error) {
      if (error instanceof Stripe.errors.StripeInvalidRequestError)
        return { kind: 'refused', reason: error.code ?? 'invalid_request' };
      throw error;
    }
  }

  private async refunded({
    payoutId,
    paymentReference,
    amount,
    currency,
  }: PayBackRequest): Promise<unknown> {
    const { checkout, refunds } = this.stripe;
    const { payment_intent: intent } = await checkout.sessions.retrieve(paymentReference);
    const paymentIntent = typeof intent === 'string' ? intent : intent?.id;
    if (!paymentIntent) throw new Error('the checkout has no payment');
    const metadata = { [PAYMENT_KEY]: paymentReference, [PAYOUT_KEY]: String(payoutId) };
    const { data } = await refunds.list({
      payment_intent: paymentIntent,
      limit: REFUNDS_LISTED_MAX,
    });
    const known = data.find((each) =>
      Object.entries(metadata).every(([key, value]) => each.metadata?.[key] === value),
    );
    return (
      known ??
      (await refunds.create(
        { payment_intent: paymentIntent, amount: minorUnits(amount, currency), metadata },
        { idempotencyKey: `tollgate-payout-${paymentReference}-${payoutId}` },
      ))
    );
  }

  readNotice(rawBody: Buffer, signature: string | undefined): PaymentNotice {
    const event = this.verify(rawBody, signature);
    switch (event.type) {
      case 'checkout.session.completed':
      case 'checkout.session.async_payment_succeeded':
        return toNotice(session.parse(event.data.object));
      case 'checkout.session.async_payment_failed':
      case 'checkout.session.expired':
        return { kind: 'failed', reference: session.parse(event.data.object).id };
      case 'refund.failed':
      case 'refund.updated':
      case 'charge.refund.updated':
        return toPayoutNotice(refund.parse(event.data.object));
      default:
        return { kind: 'other' };
    }
  }

  private verify(
    rawBody: Buffer,
    signature: string | undefined,
  ): { type: string; data: { object: unknown } } {
    try {
      return this.stripe.webhooks.constructEvent(
        rawBody,
        signature ?? '',
        this.settings.webhookSecret,
        SIGNATURE_AGE_MAX_S,
      );
    } catch {
      throw new Refusal('invalid_signature');
    }
  }
}

function minorUnits(amount: Micros, currency: string): number {
  const units = toMinorUnits(amount, currency);
  if (units === undefined)
    throw invalidField('amount', `must be a whole number of the smallest units of ${currency}`);
  return units;
}

/** A refund that is pending at a bank is accepted; a later notice reports a failure. */
function toPaidBack({ id, status, failure_reason: reason }: z.infer<typeof refund>): PaidBack {
  return status === 'failed' || status === 'canceled'
    ? { kind: 'refused', reason: reason ?? status }
    : { kind: 'accepted', reference: id };
}

function toPayoutNotice(of: z.infer<typeof refund>): PaymentNotice {
  const paid = toPaidBack(of);
  const paymentReference = of.metadata?.[PAYMENT_KEY];
  const payoutId = Number(of.metadata?.[PAYOUT_KEY]);
  if (paid.kind === 'accepted' || !paymentReference || !Number.isSafeInteger(payoutId))
    return { kind: 'other' };
  return { kind: 'payout_failed', payoutId, paymentReference, reason: paid.reason };
}

/** A completed session of a delayed payment method is not paid yet; a later notice reports the payment. */
function toNotice({
  id,
  payment_status,
  amount_total,
  currency,
}: z.infer<typeof session>): PaymentNotice {
  if (payment_status !== 'paid' || amount_total == null || currency == null)
    return { kind: 'other' };
  return {
    kind: 'paid',
    reference: id,
    amount: fromMinorUnits(amount_total, currency.toUpperCase()),
    currency: currency.toUpperCase(),
  };
}
