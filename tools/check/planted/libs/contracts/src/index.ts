export { inner } from '../../money/src/inner.ts';
