import 'pg';
import 'ioredis';
export { raceForContent } from './hedged-race.ts';
export { one } from '../../../control-plane/src/cycle-a.ts';
