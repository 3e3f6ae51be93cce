import { Injectable } from '@nestjs/common';
import type { OpenedPayment, PaymentProvider, PaymentRequest } from './payment-provider.ts';

/** Takes no money and says it did. For trying Tollgate out; exists only with PAYMENTS=sandbox. */
@Injectable()
export class SandboxProvider implements PaymentProvider {
  readonly name = 'sandbox';

  async open({ paymentId }: PaymentRequest): Promise<OpenedPayment> {
    return { reference: `sandbox-${paymentId}`, checkoutUrl: null, isPaid: true };
  }
}
