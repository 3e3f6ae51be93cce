import { shareControlPlane } from '../../../testing/shared-plane-under-test.ts';
import { shareUsageApi } from './usage-api-under-test.ts';
import './usage-logs.part.spec.ts';
import './usage-statistics.part.spec.ts';
import './burn-rate.part.spec.ts';

shareControlPlane();
shareUsageApi();
