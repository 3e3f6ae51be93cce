import { shareControlPlane } from '../../testing/shared-plane-under-test.ts';
import './openapi.part.spec.ts';
import './every-route.part.spec.ts';

shareControlPlane();
