export { route } from '../pipeline/route.ts';
