export { b } from '../features/b/b.entity.ts';
import 'bullmq';
