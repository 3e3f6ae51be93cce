import { shareControlPlane } from '../../testing/shared-plane-under-test.ts';
import './users.part.spec.ts';
import './erase-account.part.spec.ts';

shareControlPlane();
