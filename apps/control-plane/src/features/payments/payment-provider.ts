import type { Micros } from '@tollgate/money';

/** Is the injection token of the configured provider, `PaymentProvider | null`; null when payments are not configured. */
export const PAYMENT_PROVIDER = Symbol('PAYMENT_PROVIDER');

export interface PaymentRequest {
  paymentId: number;
  userId: number;
  amount: Micros;
  currency: string;
}

export interface OpenedPayment {
  /** Is the provider's id of the payment, which its notices name. */
  reference: string;
  /** Is the address to which the payer goes; null when the payer has nothing to do. */
  checkoutUrl: string | null;
  /** Is true when the money has arrived already. */
  isPaid: boolean;
}

/** Describes the part of a paid payment that returns to its payer. */
export interface PayBackRequest {
  payoutId: number;
  /** Is the payment's `OpenedPayment.reference`. */
  paymentReference: string;
  amount: Micros;
  currency: string;
}

export type PaidBack =
  | { kind: 'accepted'; reference: string }
  /** The refusal is permanent: another call would change nothing. Administrators may read `reason`. */
  | { kind: 'refused'; reason: string };

/** Is a later notice of the provider about a payment that it opened. Amounts are the ones that were really paid. */
export type PaymentNotice =
  | { kind: 'paid'; reference: string; amount: Micros; currency: string }
  | { kind: 'failed'; reference: string }
  /** A payout that the provider had accepted has failed. `paymentReference` names its payment. */
  | { kind: 'payout_failed'; payoutId: number; paymentReference: string; reason: string }
  /** The notice moves no money here. */
  | { kind: 'other' };

/** Is a service that takes payments. It refuses an amount that it cannot take with `invalidField('amount', ...)`. */
export interface PaymentProvider {
  readonly name: string;
  open(request: PaymentRequest): Promise<OpenedPayment>;
  /** Pays back: one payout is paid back once, however often this is called. Throws while the outcome is unknown; call it again then. */
  payBack(request: PayBackRequest): Promise<PaidBack>;
  /** Throws invalidField('amount', ...) for an amount that is not a whole number of the provider's smallest units. */
  refuseFraction(amount: Micros, currency: string): void;
  /** Reads a signed notice. Throws Refusal invalid_signature unless it is authentic and recent. It is absent when this provider sends no notices. */
  readNotice?(rawBody: Buffer, signature: string | undefined): PaymentNotice;
}
