import 'pg';
import 'ioredis';
export { raceForContent } from '../sending/hedged-race.ts';
export { one } from '../../../../control-plane/src/cycle-a.ts';
