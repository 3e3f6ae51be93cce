import { beforeAll } from '@jest/globals';
import { shareControlPlane, sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import './reconciliation.part.spec.ts';
import './closed-balances.part.spec.ts';
import './use-guard.part.spec.ts';
import './altered-counts.part.spec.ts';
import './lost-reaps.part.spec.ts';
import './wrong-types.part.spec.ts';
import './standing-usage.part.spec.ts';
import './altered-records.part.spec.ts';
import './expired-markers.part.spec.ts';
import { UseGuard } from './use-guard.ts';

shareControlPlane();
beforeAll(async () => {
  const { app } = await sharedControlPlane();
  app.get(UseGuard, { strict: false }).pace = { gatherMs: 50, pauseMs: 50, countEveryMs: 50 };
});
