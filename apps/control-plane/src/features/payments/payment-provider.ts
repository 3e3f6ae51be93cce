import type { Micros } from '@tollgate/money';

/** Injection token of the configured provider: `PaymentProvider | null`; null = payments are not configured. */
export const PAYMENT_PROVIDER = Symbol('PAYMENT_PROVIDER');

export interface PaymentRequest {
  /** Ours; also the provider's idempotency key, so asking again opens nothing twice. */
  paymentId: number;
  userId: number;
  amount: Micros;
  currency: string;
}

export interface OpenedPayment {
  /** The provider's id of the payment. */
  reference: string;
  /** Where the payer goes; null when there is nothing to do. */
  checkoutUrl: string | null;
  /** True when the money is there already. */
  isPaid: boolean;
}

/** Whoever takes the money. Refuses an amount it cannot take with `Refusal('invalid_request')`. */
export interface PaymentProvider {
  readonly name: string;
  open(request: PaymentRequest): Promise<OpenedPayment>;
}
