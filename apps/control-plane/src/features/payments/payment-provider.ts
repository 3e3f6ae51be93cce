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
  /** Where the payer goes; null when there is nothing to do. */
  checkoutUrl: string | null;
  /** True when the money is there already. */
  isPaid: boolean;
}

/** What a provider says, later, about a payment it opened. Amounts are what was really paid. */
export type PaymentNotice =
  | { kind: 'paid'; reference: string; amount: Micros; currency: string }
  | { kind: 'failed'; reference: string }
  /** Nothing that moves money here. */
  | { kind: 'other' };

/** The service that takes the money. Refuses an amount it cannot take with `invalidField('amount', ...)`. */
export interface PaymentProvider {
  readonly name: string;
  open(request: PaymentRequest): Promise<OpenedPayment>;
  /** Reads a signed notice; throws Refusal invalid_signature unless it is genuine and fresh. Absent: this provider sends none. */
  readNotice?(rawBody: Buffer, signature: string | undefined): PaymentNotice;
}
