import type { Micros } from '@tollgate/money';

/** Injection token of the configured provider: `PaymentProvider | null`; null = payments are not configured. */
export const PAYMENT_PROVIDER = Symbol('PAYMENT_PROVIDER');

export interface PaymentRequest {
  paymentId: number;
  userId: number;
  amount: Micros;
  currency: string;
}

export interface OpenedPayment {
  /** The provider's id of the payment; what its notices name. */
  reference: string;
  /** The address to which the payer goes; null when there is nothing to do. */
  checkoutUrl: string | null;
  /** True when the money is there already. */
  isPaid: boolean;
}

/** Part of a paid payment, to go back to who paid it. */
export interface PayBackRequest {
  payoutId: number;
  /** `OpenedPayment.reference` of the payment. */
  paymentReference: string;
  amount: Micros;
  currency: string;
}

export type PaidBack =
  | { kind: 'accepted'; reference: string }
  /** Permanent: asking again would change nothing. `reason` is fit for administrators. */
  | { kind: 'refused'; reason: string };

/** A provider's later report about a payment that it opened. Amounts are what was really paid. */
export type PaymentNotice =
  | { kind: 'paid'; reference: string; amount: Micros; currency: string }
  | { kind: 'failed'; reference: string }
  /** A payout that the provider had accepted has failed. `paymentReference` is of its payment. */
  | { kind: 'payout_failed'; payoutId: number; paymentReference: string; reason: string }
  /** Nothing that moves money here. */
  | { kind: 'other' };

/** The service that takes the money. Refuses an amount it cannot take with `invalidField('amount', ...)`. */
export interface PaymentProvider {
  readonly name: string;
  open(request: PaymentRequest): Promise<OpenedPayment>;
  /** Pays back. However often it is called, one payout is paid back once. Throws while the outcome is not known: call it again. */
  payBack(request: PayBackRequest): Promise<PaidBack>;
  /** Throws invalidField('amount', ...) for an amount that falls between two of the provider's smallest units. */
  refuseFraction(amount: Micros, currency: string): void;
  /** Reads a signed notice; throws Refusal invalid_signature unless it is genuine and fresh. Absent: this provider sends none. */
  readNotice?(rawBody: Buffer, signature: string | undefined): PaymentNotice;
}
