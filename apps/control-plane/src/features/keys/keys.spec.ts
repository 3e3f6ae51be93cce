import { shareControlPlane } from '../../testing/shared-plane-under-test.ts';
import './keys.part.spec.ts';
import './key-windows.part.spec.ts';
import './temporary-keys.part.spec.ts';

shareControlPlane();
