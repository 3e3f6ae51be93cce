export { b as a } from '../b/b.entity.ts';
