import { shareSpeakingNodes } from './speaking-nodes-under-test.ts';
import './node-registration.part.spec.ts';
import './node-states.part.spec.ts';
import './node-sync.part.spec.ts';

shareSpeakingNodes();
