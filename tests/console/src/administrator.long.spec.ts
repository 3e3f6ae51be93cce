import { shareVisit } from './administrator-under-test.ts';
import './administered-gateway.part.spec.ts';
import './administered-accounts.part.spec.ts';
import './administered-lists.part.spec.ts';
import './administered-settings.part.spec.ts';
import './administered-budgets.part.spec.ts';
import './given-again.part.spec.ts';

shareVisit();
