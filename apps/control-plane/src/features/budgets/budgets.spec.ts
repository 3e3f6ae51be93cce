import { openTenants } from '../../testing/budgets-under-test.ts';
import { shareLedgerPlane } from '../../testing/ledger-plane-under-test.ts';
import './counted-budgets.part.spec.ts';
import './budgets-in-redis.part.spec.ts';
import './lost-definitions.part.spec.ts';
import './scoped-budgets.part.spec.ts';
import './set-budgets.part.spec.ts';

shareLedgerPlane();
openTenants();
