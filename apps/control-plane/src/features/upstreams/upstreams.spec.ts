import { shareControlPlane } from '../../testing/shared-plane-under-test.ts';
import './upstreams.part.spec.ts';
import './upstream-auth.part.spec.ts';
import './upstream-presets.part.spec.ts';
import './passed-fields.part.spec.ts';
import './connection-test.part.spec.ts';
import './credentials.part.spec.ts';

shareControlPlane();
