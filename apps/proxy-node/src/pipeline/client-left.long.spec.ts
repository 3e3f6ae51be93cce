import { shareNode } from './client-left-under-test.ts';
import './json-client-left.part.spec.ts';
import './stream-client-left.part.spec.ts';

shareNode();
