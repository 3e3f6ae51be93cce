import { shareControlPlane } from '../../../testing/shared-plane-under-test.ts';
import './usage-api.part.spec.ts';
import './burn-rate.part.spec.ts';

shareControlPlane();
