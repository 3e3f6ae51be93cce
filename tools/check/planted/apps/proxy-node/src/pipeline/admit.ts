import 'pg';
import 'ioredis';
export { route } from './route.ts';
export { one } from '../../../control-plane/src/cycle-a.ts';
