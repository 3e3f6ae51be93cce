import { shareControlPlane } from '../../testing/shared-plane-under-test.ts';
import './streamed-events.part.spec.ts';
import './resumed-streams.part.spec.ts';
import './stream-endings.part.spec.ts';
import './event-feed.part.spec.ts';

shareControlPlane();
