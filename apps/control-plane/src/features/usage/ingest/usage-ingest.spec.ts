import { shareLedgerPlane } from '../../../testing/ledger-plane-under-test.ts';
import './acknowledged-usage.part.spec.ts';
import './booked-usage.part.spec.ts';
import './copied-usage.part.spec.ts';
import './overdrafts.part.spec.ts';
import './poison-events.part.spec.ts';
import './forged-events.part.spec.ts';
import './forged-reaps.part.spec.ts';
import './roll-ups.part.spec.ts';

shareLedgerPlane();
