export { two } from './cycle-b.ts';
export const one = 1;
