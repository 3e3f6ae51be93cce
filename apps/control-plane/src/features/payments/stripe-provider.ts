import { Stripe } from 'stripe';
import { z } from 'zod';
import { Refusal, invalidField } from '../../platform/http/refusal.ts';
import { fromMinorUnits, toMinorUnits } from './minor-units.ts';
import type {
  OpenedPayment,
  PaymentNotice,
  PaymentProvider,
  PaymentRequest,
} from './payment-provider.ts';

/** Below the database's limit for an idle transaction, which waits for this call. */
const TIMEOUT_MS = 10_000;
const RETRIES_MAX = 1;
/** A notice older than this is a replay; https://docs.stripe.com/webhooks#replay-attacks */
const SIGNATURE_AGE_MAX_S = 300;

export interface StripeSettings {
  secretKey: string;
  webhookSecret: string;
  /** Where the payer lands afterwards. */
  returnUrl: string;
  /** Another server that speaks Stripe's API, for tests. */
  apiUrl: string;
}

const session = z.object({
  id: z.string(),
  payment_status: z.string().optional(),
  amount_total: z.number().int().nullish(),
  currency: z.string().nullish(),
});

/** Stripe Checkout. https://docs.stripe.com/payments/checkout/fulfillment */
export class StripeProvider implements PaymentProvider {
  readonly name = 'stripe';
  private readonly stripe: Stripe;

  constructor(private readonly settings: StripeSettings) {
    const { protocol, hostname, port } = new URL(settings.apiUrl);
    this.stripe = new Stripe(settings.secretKey, {
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
    const unitAmount = toMinorUnits(amount, currency);
    if (unitAmount === undefined)
      throw invalidField('amount', `must be a whole number of the smallest units of ${currency}`);
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
        // Whatever Stripe says about our key or account is not for the payer; an amount out of its range is.
        if (
          error instanceof Stripe.errors.StripeInvalidRequestError &&
          error.code?.startsWith('amount_too_')
        )
          throw invalidField('amount', error.code);
        throw new Refusal('payment_provider_failed', { retryAfterSeconds: 5, cause: error });
      });
    return { reference: opened.id, checkoutUrl: opened.url, isPaid: false };
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

/** A completed session of a delayed method is not paid yet: a later notice reports the payment. */
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
