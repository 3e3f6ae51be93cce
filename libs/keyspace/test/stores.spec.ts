import { shareRedis } from './stores-under-test.ts';
import './fleet-store.part.spec.ts';
import './acknowledgements.part.spec.ts';
import './connections.part.spec.ts';

shareRedis();
