import { shareNode } from './native-responses-under-test.ts';
import './native-answers.part.spec.ts';
import './stored-responses.part.spec.ts';
import './stored-reach.part.spec.ts';
import './refused-responses.part.spec.ts';

shareNode();
