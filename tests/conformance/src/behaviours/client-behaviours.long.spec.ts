import { shareGateway } from './client-behaviours-under-test.ts';
import './asking-clients.part.spec.ts';
import './requests-upstream.part.spec.ts';
import './answers-to-clients.part.spec.ts';
import './failures-to-clients.part.spec.ts';

shareGateway();
