import { shareLedgerPlane } from '../../../testing/ledger-plane-under-test.ts';
import './suppliers.part.spec.ts';
import './counted-calls.part.spec.ts';
import './usage-logs.part.spec.ts';
import './usage-store.part.spec.ts';
import './usage-statistics.part.spec.ts';
import './usage-top.part.spec.ts';
import './burn-rate.part.spec.ts';

shareLedgerPlane();
