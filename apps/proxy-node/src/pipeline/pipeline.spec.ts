import { shareNode } from './pipeline-under-test.ts';
import './answered-chats.part.spec.ts';
import './budgeted-requests.part.spec.ts';
import './cached-prompts.part.spec.ts';
import './credentials.part.spec.ts';
import './ended-streams.part.spec.ts';
import './failover.part.spec.ts';
import './identities.part.spec.ts';
import './large-calls.part.spec.ts';
import './limited-requests.part.spec.ts';
import './rate-limited-upstreams.part.spec.ts';
import './unserved-requests.part.spec.ts';

shareNode();
