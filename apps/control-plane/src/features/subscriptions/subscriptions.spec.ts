import { shareControlPlane } from '../../testing/shared-plane-under-test.ts';
import './subscriptions.part.spec.ts';
import './auto-recharge.part.spec.ts';

shareControlPlane();
