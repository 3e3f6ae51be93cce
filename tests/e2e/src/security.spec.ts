import { shareTollgate } from './security-under-test.ts';
import './secrets-stay.part.spec.ts';
import './outside-input.part.spec.ts';
import './raised-balance.part.spec.ts';
import './library-paths.part.spec.ts';

shareTollgate();
