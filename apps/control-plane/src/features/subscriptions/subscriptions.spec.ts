import { shareLedgerPlane } from '../../testing/ledger-plane-under-test.ts';
import { shareAutoRecharge } from './auto-recharge/auto-recharge-under-test.ts';
import './subscribing.part.spec.ts';
import './unsubscribing.part.spec.ts';
import './subscription-history.part.spec.ts';
import './auto-recharge-purchases.part.spec.ts';
import './budgeted-purchases.part.spec.ts';
import './auto-recharge-needs.part.spec.ts';
import './prices-of-purchases.part.spec.ts';

shareAutoRecharge();
shareLedgerPlane();
