import { shareControlPlane } from '../../testing/shared-plane-under-test.ts';
import './refusals.part.spec.ts';
import './http.part.spec.ts';
import './field-faults.part.spec.ts';
import './records.part.spec.ts';

shareControlPlane();
