/** `ops.ts` had this file's name before; timers of operators still call it. */
import './ops.ts';
