import { shareNode } from './security-under-test.ts';
import './secure-connections.part.spec.ts';
import './passed-on-fields.part.spec.ts';
import './honest-charges.part.spec.ts';

shareNode();
