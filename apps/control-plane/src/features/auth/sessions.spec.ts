import { shareControlPlane } from '../../testing/shared-plane-under-test.ts';
import './sessions.part.spec.ts';
import './access-tokens.part.spec.ts';
import './confirm-password.part.spec.ts';

shareControlPlane();
