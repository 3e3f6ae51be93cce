import { shareWallet } from './wallet-under-test.ts';
import './recharges.part.spec.ts';
import './idempotency-key.part.spec.ts';
import './ledger.part.spec.ts';
import './corrections.part.spec.ts';

shareWallet();
