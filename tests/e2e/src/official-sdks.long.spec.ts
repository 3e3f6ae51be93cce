import { shareTollgate } from './official-sdks-under-test.ts';
import './sdk-calls.part.spec.ts';
import './sdk-background.part.spec.ts';
import './large-bodies.part.spec.ts';
import './caller-limits.part.spec.ts';

shareTollgate();
