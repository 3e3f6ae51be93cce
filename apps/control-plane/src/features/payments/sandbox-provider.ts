import { Injectable } from '@nestjs/common';
import type {
  OpenedPayment,
  PaidBack,
  PayBackRequest,
  PaymentProvider,
  PaymentRequest,
} from './payment-provider.ts';

/** Confirms payments without taking money, for trying Tollgate out. It exists only with PAYMENTS=sandbox. */
@Injectable()
export class SandboxProvider implements PaymentProvider {
  readonly name = 'sandbox';

  async open({ paymentId }: PaymentRequest): Promise<OpenedPayment> {
    return { reference: `sandbox-${paymentId}`, checkoutUrl: null, isPaid: true };
  }

  async payBack({ payoutId }: PayBackRequest): Promise<PaidBack> {
    return { kind: 'accepted', reference: `sandbox-payout-${payoutId}` };
  }

  refuseFraction(): void {}
}
