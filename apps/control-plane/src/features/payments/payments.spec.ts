import { shareStripe } from './payments-under-test.ts';
import './stripe-recharges.part.spec.ts';
import './stripe-payouts.part.spec.ts';
import './payment-settings.part.spec.ts';

shareStripe();
