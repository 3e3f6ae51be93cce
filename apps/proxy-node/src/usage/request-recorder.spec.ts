import { shareRecorderBench } from './recorder-under-test.ts';
import './settled-requests.part.spec.ts';
import './checkpointed-streams.part.spec.ts';
import './recovered-journals.part.spec.ts';

shareRecorderBench();
