/** Imports a library that its project does not reference; the project references one that nothing imports. */
import { parseMicros } from '@tollgate/money';

export const planted = parseMicros;
