export { route } from '../pipeline/sending/route.ts';
